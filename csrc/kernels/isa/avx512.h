// Macros of a file compiled for `avx512`: a row is a function with the set's name as suffix.
#ifndef CLOAKWORK_KERNELS_ISA_AVX512_H_
#define CLOAKWORK_KERNELS_ISA_AVX512_H_

#include "kernels/simd/u64x8.h"

#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                      \
  extern "C" void cw_##kernel##_##suffix##_avx512(const cw_launch* launch, uint64_t begin, \
                                              uint64_t end, void* scratch) {       \
    using namespace cw;                                                            \
    Function<U64x8, In, Out>(*launch, begin, end, scratch);                           \
  }
// A kernel that no instruction set makes faster has one row.
#define CW_PORTABLE_KERNEL(kernel, suffix, Function, In, Out, derived)

#endif  // CLOAKWORK_KERNELS_ISA_AVX512_H_
