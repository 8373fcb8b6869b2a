// Memory of the checks of contents.
#ifndef CLOAKWORK_KERNELS_CONTENTS_DERIVED_H_
#define CLOAKWORK_KERNELS_CONTENTS_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_check_permutation_scratch(const cw_launch* launch);
uint64_t cw_check_distinct_scratch(const cw_launch* launch);
}

namespace cw {
namespace {

// A bit for each number of a permutation.
constexpr Derived kSeen = {0, cw_check_permutation_scratch, nullptr, nullptr};
// A table of the elements seen.
constexpr Derived kDistinct = {0, cw_check_distinct_scratch, nullptr, nullptr};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CONTENTS_DERIVED_H_
