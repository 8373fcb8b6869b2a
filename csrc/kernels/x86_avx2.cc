// Every kernel on four words a vector. Compiled with AVX2 and BMI2.
#include "kernels/simd/u64x4.h"

#include "kernels/families.h"

#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                            \
  extern "C" void cw_##kernel##_##suffix##_avx2(const cw_launch* launch, uint64_t begin, \
                                                uint64_t end, void* scratch) {           \
    using namespace cw;                                                                  \
    Function<U64x4, In, Out>(*launch, begin, end, scratch);                              \
  }
#include "kernels/families.inc"
