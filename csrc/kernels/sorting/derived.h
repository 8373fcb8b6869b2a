// Scratch memory of the sorting kernels.
#ifndef CLOAKWORK_KERNELS_SORTING_DERIVED_H_
#define CLOAKWORK_KERNELS_SORTING_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_sort_scratch_1(const cw_launch* launch);
uint64_t cw_sort_scratch_2(const cw_launch* launch);
uint64_t cw_sort_scratch_4(const cw_launch* launch);
uint64_t cw_sort_scratch_8(const cw_launch* launch);
uint64_t cw_argsort_scratch_4(const cw_launch* launch);
uint64_t cw_argsort_scratch_8(const cw_launch* launch);
}

namespace cw {
namespace {

// By the size of an element.
constexpr Derived kSort1 = {0, cw_sort_scratch_1, nullptr, nullptr};
constexpr Derived kSort2 = {0, cw_sort_scratch_2, nullptr, nullptr};
constexpr Derived kSort4 = {0, cw_sort_scratch_4, nullptr, nullptr};
constexpr Derived kSort8 = {0, cw_sort_scratch_8, nullptr, nullptr};
// By the largest size of an element.
constexpr Derived kArgsort4 = {0, cw_argsort_scratch_4, nullptr, nullptr};
constexpr Derived kArgsort8 = {0, cw_argsort_scratch_8, nullptr, nullptr};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SORTING_DERIVED_H_
