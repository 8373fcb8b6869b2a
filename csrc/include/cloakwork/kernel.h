// The C table between Rust, which plans, and the kernels, which compute.
//
// A kernel runs over a range of independent units of one launch. It trusts every pointer, stride
// and size: the verifier has checked them. Pointers are aligned to their element, those of 16 bytes
// to a word. It allocates nothing, keeps no state, starts no thread and cannot fail. Two calls on
// disjoint ranges of one launch may run at the same time, and the result never depends on how the
// units were divided.
#ifndef CLOAKWORK_KERNEL_H_
#define CLOAKWORK_KERNEL_H_

#include <stdint.h>

#include "cloakwork/algebra.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CW_KERNEL_ABI 2u

// Element types; the numbers are part of the ABI.
enum cw_dtype {
  CW_ANY = 0,  // in a kernel row: any type of the row's element_bytes
  CW_BOOL = 1,
  CW_I8 = 2,
  CW_I16 = 3,
  CW_I32 = 4,
  CW_I64 = 5,
  CW_U8 = 6,
  CW_U16 = 7,
  CW_U32 = 8,
  CW_U64 = 9,
  CW_F32 = 10,
  CW_F64 = 11,
  CW_C64 = 12,   // two binary32: real, imaginary
  CW_C128 = 13,  // two binary64
  // Elements of prime fields: little-endian words in Montgomery form, below the prime; R is 2 to
  // the bits of the words. Goldilocks is the number itself. docs/fields.md lists them.
  // Affine points: x, y over the base field (g2: the two parts of x, then of y); infinity is zeros.
  CW_ALGEBRA_DTYPES
};

// Features of processors: numbers of bits in a set. None implies another.
enum cw_feature {
  CW_FEATURE_AVX2 = 0,
  CW_FEATURE_FMA = 1,
  CW_FEATURE_BMI2 = 2,
  CW_FEATURE_AVX512F = 3,
  CW_FEATURE_AVX512DQ = 4,
  CW_FEATURE_AVX512VL = 5,
  CW_FEATURE_AVX512BW = 6,
  CW_FEATURE_AVX512IFMA = 7,
  CW_FEATURE_NEON = 8,
  CW_FIRST_OWN_FEATURE = 48,  // from here on a driver's own features, which distinguish its devices
};
#define CW_FEATURE(name) ((uint64_t)1 << CW_FEATURE_##name)

// The sets that have names: users type these names, and symbols end in them.
#define CW_PORTABLE ((uint64_t)0)
#define CW_NEON CW_FEATURE(NEON)
#define CW_AVX2 (CW_FEATURE(AVX2) | CW_FEATURE(FMA) | CW_FEATURE(BMI2))
#define CW_AVX512                                                                \
  (CW_AVX2 | CW_FEATURE(AVX512F) | CW_FEATURE(AVX512DQ) | CW_FEATURE(AVX512VL) | \
   CW_FEATURE(AVX512BW))
#define CW_AVX512IFMA (CW_AVX512 | CW_FEATURE(AVX512IFMA))

// One prepared step. Dimensions and strides are shared by all steps of the same geometry.
typedef struct cw_launch {
  uint32_t rank;           // dimensions of the iteration space
  uint32_t operands;       // tensors; operand 0 is the result
  const int64_t* dims;     // [rank], outermost first
  const int64_t* strides;  // [operands][rank], in elements of the operand
  void* const* data;       // [operands]; element [0, ..., 0] of each; null where absent
  const int64_t* params;   // meaning by kernel: docs/kernels.md
  const void* prepared;    // the result of the row's prepare; null without one; for a row with a
                           // prepared_axis, an array of such pointers, one for each index
} cw_launch;

// Runs units begin .. end. Units are the first dimensions of the launch, flattened row-major; the
// kernel fixes how many dimensions (docs/kernels.md). scratch holds at least
// row.scratch_bytes(launch), 64-byte aligned, and no other call uses it.
typedef void (*cw_kernel_fn)(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch);

// Bytes that a launch needs: scratch for each call, or prepared constants. Depends on the geometry
// and params alone: data and prepared may be null.
typedef uint64_t (*cw_size_fn)(const cw_launch* launch);

// Derives constants from operands (moduli, twiddles, permutations) into prepared, 64-byte aligned.
// Reads only operands whose bit is set in row.constant_operands. Rust calls it once per plan when
// those operands are constant, else before each run of the step.
//
// For a row with a prepared_axis it derives the constants of one index of that axis. Its launch,
// and that of prepared_bytes, has size 1 along that axis and all axes before it, strides of 0 and
// no data for operands that are not constant, and constant operands that begin at the index.
// Constants of one index serve every launch over that index.
//
// An element-wise op has one constant operand, and its prepared block is a list of records of one
// size, one for each element of that operand, row-major over the dimensions along which it varies:
// a launch over a part of the elements gets the list from the first record that it needs.
typedef void (*cw_prepare_fn)(const cw_launch* launch, void* prepared);

// One kernel. Of the rows whose types fit and whose needs are a subset of the allowed features,
// Rust selects the one of the greatest preference, and of equal ones the first.
typedef struct cw_kernel_row {
  const char* kernel;          // name that op declarations use: "modmul"
  const char* symbol;          // name in plans and traces: "modmul_i64_avx512"
  uint64_t needs;              // required features: a bit for each
  uint32_t in_dtype;           // type of operand 1 (of operand 0 where there is no other)
  uint32_t out_dtype;          // type of operand 0
  uint32_t element_bytes;      // for CW_ANY: size of an element; else 0
  uint32_t constant_operands;  // bit i: prepare reads operand i
  uint32_t prepared_axis;      // 1 + the axis with separate constants for each index; 0: one block
  uint32_t preference;         // among the rows of one kernel and its types
  cw_kernel_fn run;
  cw_size_fn scratch_bytes;   // null: none
  cw_size_fn prepared_bytes;  // null: none
  cw_prepare_fn prepare;      // null: none
} cw_kernel_row;

// All rows of the processor.
const cw_kernel_row* cw_cpu_kernels(uint64_t* count);

// Sizes and offsets of the structs above, for the test that compares them with Rust's mirrors:
// {abi, sizeof(cw_launch), offsets..., sizeof(cw_kernel_row), offsets..., named sets...}.
const uint64_t* cw_abi_layout(uint64_t* count);

// Index (row-major over dims) of the first element that differs between two tensors, or -1;
// *different receives how many differ. Compares bytes of element_bytes each;
// data need not be aligned.
int64_t cw_find_difference(uint32_t element_bytes, const void* a, const int64_t* a_strides,
                           const void* b, const int64_t* b_strides, uint32_t rank,
                           const int64_t* dims, uint64_t* different);

#ifdef __cplusplus
}
#endif

#endif  // CLOAKWORK_KERNEL_H_
