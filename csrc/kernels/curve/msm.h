// sum_i s_i P_i by Pippenger's buckets: N. Pippenger, On the evaluation of powers and related
// problems, FOCS 1976. Three launches: signed digits of all scalars, sums of windows, their
// combination. docs/kernels.md defines their launches.
#ifndef CLOAKWORK_KERNELS_CURVE_MSM_H_
#define CLOAKWORK_KERNELS_CURVE_MSM_H_

#include "kernels/curve/combine.h"
#include "kernels/curve/multiples.h"
#include "kernels/curve/window.h"
#include "kernels/rows.h"

namespace cw {
namespace {

template <class V, class Scalar, class Digit>
void MsmDigits(const cw_launch& launch, u64 begin, u64 end, void*) {
  const MsmDigitsShape shape(launch.params);
  for (u64 unit = begin; unit < end; ++unit) {
    const UnitOfDigits<Scalar> own(launch, shape, unit);
    for (u64 i = 0; i < own.count; ++i) own.Write(i);
  }
}

// dims: rows..., windows, chunks of points, weight. out: one point in XYZZ coordinates for each.
template <class V, class Point, class Word>
void MsmWindows(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  using F = typename CoordinateOf<Point>::F;
  using Lanes = typename LanesFor<F>::V;
  const MsmWindowsShape shape(launch.params);
  const u64 most = Min(shape.chunk, shape.count);
  const u32 rank = launch.rank - 1;
  const auto memory = CarveWindow<Lanes>(most, shape.window_bits, scratch);
  for (u64 unit = begin; unit < end; ++unit) {
    const auto place = [&](u32 operand) {
      return OffsetAt(unit, rank, launch.dims, Strides(launch, operand));
    };
    const u64 first = unit % Dim(launch, rank - 1) * shape.chunk;
    const Point* bases = Data<const Point>(launch, 1) + place(1);
    const int16_t* digits = Data<const int16_t>(launch, 2) + place(2);
    const i64 step = shape.base_step * (i64)(sizeof(Point) / 8);
    const Xyzz<F> sum =
        SumWindow(memory, reinterpret_cast<const u64*>(bases), step, digits,
                  Min(shape.chunk, shape.count - first), shape.window_bits);
    memcpy(Data<u64>(launch, 0) + place(0), &sum, sizeof sum);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_MSM_H_
