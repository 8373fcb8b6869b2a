// Scratch memory of the kernels of this family.
#ifndef CLOAKWORK_KERNELS_CURVE_DERIVED_H_
#define CLOAKWORK_KERNELS_CURVE_DERIVED_H_

#include "kernels/derived.h"

#define CW_SIZES(suffix, Point, dtype, Base, parts, Scalar)               \
  uint64_t cw_msm_scratch_bytes_##suffix(const cw_launch* launch);        \
  uint64_t cw_curve_mul_scratch_bytes_##suffix(const cw_launch* launch);
extern "C" {
CW_EACH_GROUP(CW_SIZES)
}
#undef CW_SIZES

namespace cw {
namespace {

#define CW_DERIVED(suffix, Point, dtype, Base, parts, Scalar)                                   \
  constexpr Derived kMsm_##suffix = {0, cw_msm_scratch_bytes_##suffix, nullptr, nullptr};       \
  constexpr Derived kTable_##suffix = {0, cw_curve_mul_scratch_bytes_##suffix, nullptr, nullptr};
CW_EACH_GROUP(CW_DERIVED)
#undef CW_DERIVED

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_DERIVED_H_
