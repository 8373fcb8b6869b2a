// sum_i s_i P_i by Pippenger's buckets: N. Pippenger, On the evaluation of powers and related
// problems, FOCS 1976. Three launches: signed digits of all scalars, sums of windows, their
// combination. docs/kernels.md defines their launches.
#ifndef CLOAKWORK_KERNELS_CURVE_MSM_H_
#define CLOAKWORK_KERNELS_CURVE_MSM_H_

#include "kernels/curve/multiples.h"
#include "kernels/curve/window.h"
#include "kernels/rows.h"

namespace cw {
namespace {

CW_INLINE bool AnyWord(const u64* words, u64 count) {
  u64 bits = 0;
  for (u64 i = 0; i < count; ++i) bits |= words[i];
  return bits != 0;
}

// dims: rows..., blocks, weight. Digits of points at infinity are 0.
template <class V, class Scalar, class Digit>
void MsmDigits(const cw_launch& launch, u64 begin, u64 end, void*) {
  const MsmDigitsShape shape(launch.params);
  const u32 rank = launch.rank - 1;
  for (u64 unit = begin; unit < end; ++unit) {
    const auto place = [&](u32 operand) {
      return OffsetAt(unit, rank, launch.dims, Strides(launch, operand));
    };
    int16_t* out = Data<int16_t>(launch, 0) + place(0);
    const Scalar* scalars = Data<const Scalar>(launch, 1) + place(1);
    const u64* bases = Data<const u64>(launch, 2) + place(2) * (i64)shape.base_words;
    const u64 first = unit % Dim(launch, rank - 1) * shape.block;
    const u64 count = Min(shape.block, shape.count - first);
    for (u64 i = 0; i < count; ++i) {
      Words<4> scalar = {};
      const u64* base = bases + (i64)i * shape.base_step * (i64)shape.base_words;
      const bool finite = AnyWord(base, shape.base_words);
      if (finite) scalar = ToCanonical(scalars[(i64)i * shape.scalar_step]);
      SignedDigits(scalar, shape.window_bits, shape.windows, out + i, shape.count);
    }
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

// dims: rows..., weight. The windows' sums, the highest first, with doublings between.
template <class V, class Word, class Point>
void MsmCombine(const cw_launch& launch, u64 begin, u64 end, void*) {
  using F = typename CoordinateOf<Point>::F;
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

#endif  // CLOAKWORK_KERNELS_CURVE_MSM_H_
