// Single elements: `argument` is 1 for a grid by rows (cuda/plans/spaces.h).
#include "cuda/kernels/spaces.cuh"

#undef CW_KERNEL
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) {           \
    using namespace cw;                                       \
    Function<U64x1, In, Out>(own, units, argument, memory);   \
  }

#include "kernels/elementwise/kernels.h"
#include "kernels/elementwise/kernels.inc"
