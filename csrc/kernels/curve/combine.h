// The last launch of a multi-scalar multiplication (msm.h).
#ifndef CLOAKWORK_KERNELS_CURVE_COMBINE_H_
#define CLOAKWORK_KERNELS_CURVE_COMBINE_H_

#include "kernels/curve/msm_shape.h"
#include "kernels/curve/points.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// dims: rows..., weight. The windows' sums, the highest first, with doublings between.
template <class V, class Word, class Point>
void MsmCombine(const cw_launch& launch, u64 begin, u64 end, void*) {
  using F = decltype(Point::x);
  const MsmCombineShape shape(launch.params);
  const u32 rank = launch.rank - 1;
  for (u64 unit = begin; unit < end; ++unit) {
    const u64* parts =
        Data<const u64>(launch, 1) + OffsetAt(unit, rank, launch.dims, Strides(launch, 1));
    Xyzz<F> sum = InfiniteXyzz<F>();
    for (u64 window = shape.windows; window-- > 0;) {
      for (u64 i = 0; i < shape.window_bits; ++i) sum = Double(sum);
      for (u64 chunk = 0; chunk < shape.chunks; ++chunk) {
        Xyzz<F> part;
        memcpy(&part, parts + (window * shape.chunks + chunk) * (sizeof part / 8), sizeof part);
        sum = Add(sum, part);
      }
    }
    const Point result = ToAffine(sum);
    const i64 place = OffsetAt(unit, rank, launch.dims, Strides(launch, 0));
    memcpy(Data<Point>(launch, 0) + place, &result, sizeof result);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_COMBINE_H_
