// What the kernels of this family need beside their operands.
#ifndef CLOAKWORK_KERNELS_CURVE_DERIVED_H_
#define CLOAKWORK_KERNELS_CURVE_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_msm_scratch_bytes_64(const cw_launch* launch);
uint64_t cw_msm_scratch_bytes_96(const cw_launch* launch);
uint64_t cw_msm_scratch_bytes_128(const cw_launch* launch);
uint64_t cw_msm_scratch_bytes_192(const cw_launch* launch);
uint64_t cw_curve_mul_scratch_bytes_64(const cw_launch* launch);
uint64_t cw_curve_mul_scratch_bytes_96(const cw_launch* launch);
uint64_t cw_curve_mul_scratch_bytes_128(const cw_launch* launch);
uint64_t cw_curve_mul_scratch_bytes_192(const cw_launch* launch);
}

namespace cw {
namespace {

// By the size of a point.
constexpr Derived kMsm64 = {0, cw_msm_scratch_bytes_64, nullptr, nullptr};
constexpr Derived kMsm96 = {0, cw_msm_scratch_bytes_96, nullptr, nullptr};
constexpr Derived kMsm128 = {0, cw_msm_scratch_bytes_128, nullptr, nullptr};
constexpr Derived kMsm192 = {0, cw_msm_scratch_bytes_192, nullptr, nullptr};
constexpr Derived kTable64 = {0, cw_curve_mul_scratch_bytes_64, nullptr, nullptr};
constexpr Derived kTable96 = {0, cw_curve_mul_scratch_bytes_96, nullptr, nullptr};
constexpr Derived kTable128 = {0, cw_curve_mul_scratch_bytes_128, nullptr, nullptr};
constexpr Derived kTable192 = {0, cw_curve_mul_scratch_bytes_192, nullptr, nullptr};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_DERIVED_H_
