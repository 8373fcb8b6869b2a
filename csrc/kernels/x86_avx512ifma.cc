// The kernels that 52-bit multiply-add makes faster. Compiled with AVX-512 and IFMA.
#include "kernels/simd/u64x8.h"

#include "kernels/modular/product_sum_ifma.h"

#include "kernels/modular/modmul_axis_sum.h"

#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                                  \
  extern "C" void cw_##kernel##_##suffix##_avx512ifma(const cw_launch* launch, uint64_t begin, \
                                                      uint64_t end, void* scratch) {           \
    using namespace cw;                                                                        \
    Function<U64x8, In, Out>(*launch, begin, end, scratch);                                    \
  }
#include "kernels/modular/products.inc"
