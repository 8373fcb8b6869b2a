// One element of a matrix product a thread: `argument` is the number of elements.
#include "cuda/kernels/kernel.h"

#undef CW_KERNEL
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                   \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) {                             \
    using namespace cw;                                                         \
    for (u64 place = ThreadIndex(); place < argument; place += ThreadCount()) { \
      Function<U64x1, In, Out>(own, place, place + 1, memory);                  \
    }                                                                           \
  }

#include "kernels/linear/kernels.h"
#include "kernels/linear/kernels.inc"
