// Scratch memory of reductions that compute many results at once.
#ifndef CLOAKWORK_KERNELS_REDUCTION_DERIVED_H_
#define CLOAKWORK_KERNELS_REDUCTION_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_reduction_scratch_8(const cw_launch* launch);
uint64_t cw_reduction_scratch_16(const cw_launch* launch);
}

namespace cw {
namespace {

// By the size of an element or accumulator, whichever is larger.
constexpr Derived kColumns8 = {0, cw_reduction_scratch_8, nullptr, nullptr};
constexpr Derived kColumns16 = {0, cw_reduction_scratch_16, nullptr, nullptr};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_DERIVED_H_
