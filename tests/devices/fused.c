// A device with copies, products and sums, and with ops that only it has: fused.toml. With
// -DWRONG_CUBE its cubes are squares.
#include "cloakwork/simple_device.h"

__extension__ typedef __int128 wide_word;

#define ELEMENT(type, operand) CW_SIMPLE_AT(type, launch, operand, launch->rank, unit)

static void copy_8(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    ELEMENT(uint64_t, 0) = ELEMENT(uint64_t, 1);
  }
}

static void modmul_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const wide_word product = (wide_word)ELEMENT(int64_t, 1) * ELEMENT(int64_t, 2);
    ELEMENT(int64_t, 0) = (int64_t)(product % ELEMENT(int64_t, 3));
  }
}

static void modsum_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const wide_word sum = (wide_word)ELEMENT(int64_t, 1) + ELEMENT(int64_t, 2);
    ELEMENT(int64_t, 0) = (int64_t)(sum % ELEMENT(int64_t, 3));
  }
}

// out = (a * a % q + step) % q.
static void square_step_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const int64_t a = ELEMENT(int64_t, 1), q = ELEMENT(int64_t, 2);
    const wide_word sum = (wide_word)((int64_t)((wide_word)a * a % q)) + launch->params[0];
    ELEMENT(int64_t, 0) = (int64_t)(sum % q);
  }
}

// out = a * a % q * a % q.
static void cube_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const int64_t a = ELEMENT(int64_t, 1), q = ELEMENT(int64_t, 2);
    const int64_t square = (int64_t)((wide_word)a * a % q);
#ifdef WRONG_CUBE
    ELEMENT(int64_t, 0) = square;
#else
    ELEMENT(int64_t, 0) = (int64_t)((wide_word)square * a % q);
#endif
  }
}

// out[n] = a sum over k of a[n, k] * b[k], modulo 2^64: the space is n, k.
static void row_sums_i64(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  const uint32_t split = launch->rank - 1;
  const int64_t over_a = launch->strides[launch->rank + split];
  const int64_t over_b = launch->strides[2 * launch->rank + split];
  for (uint64_t unit = begin; unit < end; ++unit) {
    const int64_t* a = &CW_SIMPLE_AT(int64_t, launch, 1, split, unit);
    const int64_t* b = &CW_SIMPLE_AT(int64_t, launch, 2, split, unit);
    uint64_t sum = 0;
    for (int64_t k = 0; k < launch->dims[split]; ++k) {
      sum += (uint64_t)a[k * over_a] * (uint64_t)b[k * over_b];
    }
    CW_SIMPLE_AT(int64_t, launch, 0, split, unit) = (int64_t)sum;
  }
}

static const cw_kernel_row rows[] = {
    CW_SIMPLE_ROW_BYTES("copy", copy_8, 8),
    CW_SIMPLE_ROW("modmul", modmul_i64, CW_I64, CW_I64),
    CW_SIMPLE_ROW("modsum", modsum_i64, CW_I64, CW_I64),
    CW_SIMPLE_ROW("square_step", square_step_i64, CW_I64, CW_I64),
    CW_SIMPLE_ROW("cube", cube_i64, CW_I64, CW_I64),
    CW_SIMPLE_ROW("row_sums", row_sums_i64, CW_I64, CW_I64),
};
CW_SIMPLE_DRIVER("fused", rows)
