// Sizes of scratch memory for the kernels of this family.
#include "kernels/curve/derived.h"
#include "kernels/curve/msm_shape.h"
#include "kernels/field/elements.h"

namespace cw {
namespace {

u64 MsmScratchBytes(const cw_launch& launch, u64 point_bytes) {
  const MsmWindowsShape shape(launch.params);
  return WindowLayout(point_bytes / 16, Min(shape.chunk, shape.count), shape.window_bits).bytes;
}

// The last axis gives the cost of a multiple. Ranges of few multiples build no table.
u64 TableBytes(const cw_launch& launch, u64 point_bytes) {
  u64 multiples = 1;
  for (u32 axis = 0; axis + 1 < launch.rank; ++axis) multiples *= Dim(launch, axis);
  return multiples < kTableWorth ? 0 : kTableWindows * kTableMultiples * point_bytes;
}

}  // namespace
}  // namespace cw

#define CW_SIZES(suffix, Point, dtype, Base, parts, Scalar)              \
  uint64_t cw_msm_scratch_bytes_##suffix(const cw_launch* l) {           \
    return cw::MsmScratchBytes(*l, sizeof(cw::Point));                   \
  }                                                                      \
  uint64_t cw_curve_mul_scratch_bytes_##suffix(const cw_launch* l) {     \
    return cw::TableBytes(*l, sizeof(cw::Point));                        \
  }
extern "C" {
CW_EACH_GROUP(CW_SIZES)
}
