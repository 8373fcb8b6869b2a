// A device in C: four kernels and one macro. The kit of simple_device.h is all the rest.
//
//   make                                  # libmychip.so
//   cloakwork run t.json --device ./libmychip.so
//
// docs/kernels.md defines the launch of each kernel; steps without a kernel here run on the host.
#include "cloakwork/simple_device.h"

// Products of two words.
__extension__ typedef __int128 wide_word;

// A kernel for one element a unit: each operand at the unit, in a space of `launch->rank` dims.
#define ELEMENT(type, operand) CW_SIMPLE_AT(type, launch, operand, launch->rank, unit)

// out = a, elements of 8 bytes.
static void copy_8(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    ELEMENT(uint64_t, 0) = ELEMENT(uint64_t, 1);
  }
}

// out = (a * b) % q. Moduli reach 2^62: the product needs 128 bits.
static void modmul_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const wide_word product = (wide_word)ELEMENT(int64_t, 1) * ELEMENT(int64_t, 2);
    ELEMENT(int64_t, 0) = (int64_t)(product % ELEMENT(int64_t, 3));
  }
}

// out = (a + b) % q. The operands are any words: so does the sum.
static void modsum_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const wide_word sum = (wide_word)ELEMENT(int64_t, 1) + ELEMENT(int64_t, 2);
    ELEMENT(int64_t, 0) = (int64_t)(sum % ELEMENT(int64_t, 3));
  }
}

// out = the residues of a along the last dimension, added up: t = (t + a[s]) % q. A unit is an
// element of the result: all dimensions but the last.
static void axis_modsum_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  const uint32_t split = launch->rank - 1;
  const int64_t stride = launch->strides[launch->rank + split];
  for (uint64_t unit = begin; unit < end; ++unit) {
    const int64_t* a = &CW_SIMPLE_AT(int64_t, launch, 1, split, unit);
    const int64_t q = CW_SIMPLE_AT(int64_t, launch, 2, split, unit);
    wide_word sum = 0;
    for (int64_t s = 0; s < launch->dims[split]; ++s) sum = (sum + a[s * stride]) % q;
    CW_SIMPLE_AT(int64_t, launch, 0, split, unit) = (int64_t)sum;
  }
}

static const cw_kernel_row rows[] = {
    CW_SIMPLE_ROW_BYTES("copy", copy_8, 8),
    CW_SIMPLE_ROW("modmul", modmul_i64, CW_I64, CW_I64),
    CW_SIMPLE_ROW("modsum", modsum_i64, CW_I64, CW_I64),
    CW_SIMPLE_ROW("axis_modsum", axis_modsum_i64, CW_I64, CW_I64),
};
CW_SIMPLE_DRIVER("mychip", rows)
