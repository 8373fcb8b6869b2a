// Every kernel on eight words a vector. Compiled with AVX-512 F, DQ, VL, BW.
#include "kernels/simd/u64x8.h"

#include "kernels/families.h"

#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                              \
  extern "C" void cw_##kernel##_##suffix##_avx512(const cw_launch* launch, uint64_t begin, \
                                                  uint64_t end, void* scratch) {           \
    using namespace cw;                                                                    \
    Function<U64x8, In, Out>(*launch, begin, end, scratch);                                \
  }
#include "kernels/families.inc"
