// Every kernel on plain 64-bit words.
#include "kernels/simd/u64x1.h"

#include "kernels/families.h"

#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                                \
  extern "C" void cw_##kernel##_##suffix##_portable(const cw_launch* launch, uint64_t begin, \
                                                    uint64_t end, void* scratch) {           \
    using namespace cw;                                                                      \
    Function<U64x1, In, Out>(*launch, begin, end, scratch);                                  \
  }
#include "kernels/families.inc"
