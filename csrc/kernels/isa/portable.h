// Macros of a file compiled for `portable`: a row is a function with the set's name as suffix.
#ifndef CLOAKWORK_KERNELS_ISA_PORTABLE_H_
#define CLOAKWORK_KERNELS_ISA_PORTABLE_H_

#include "kernels/simd/u64x1.h"

#define CW_DEFINED(kernel, suffix, Function, In, Out, derived)                     \
  extern "C" void cw_##kernel##_##suffix##_portable(const cw_launch* launch, uint64_t begin, \
                                              uint64_t end, void* scratch) {       \
    using namespace cw;                                                            \
    Function<U64x1, In, Out>(*launch, begin, end, scratch);                           \
  }
#define CW_NOT_DEFINED(kernel, suffix, Function, In, Out, derived)

// A kernel that no instruction set makes faster has one row. A build for one machine optimises
// these, and not those that are there to be compared: a unit may have either.
#if defined(CW_OWN_ROWS)
#define CW_KERNEL CW_NOT_DEFINED
#define CW_PORTABLE_KERNEL CW_DEFINED
#elif defined(CW_SHARED_ROWS)
#define CW_KERNEL CW_DEFINED
#define CW_PORTABLE_KERNEL CW_NOT_DEFINED
#else
#define CW_KERNEL CW_DEFINED
#define CW_PORTABLE_KERNEL CW_DEFINED
#endif

#endif  // CLOAKWORK_KERNELS_ISA_PORTABLE_H_
