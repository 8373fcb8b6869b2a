// Points element by element: sums, negatives, comparison, multiples.
#ifndef CLOAKWORK_KERNELS_CURVE_POINTWISE_H_
#define CLOAKWORK_KERNELS_CURVE_POINTWISE_H_

#include "kernels/curve/multiples.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// Points that share an inversion.
constexpr u64 kPointBlock = kBlock < 64 ? kBlock : 64;

// Affine points by one inversion: before[i] is the product of the zzz of finite points before i.
template <class F>
void ToAffineAll(const Xyzz<F>* points, Affine<F>* out, u64 count) {
  F before[kPointBlock];
  F product = OneOf<F>();
  for (u64 i = 0; i < count; ++i) {
    before[i] = product;
    if (!IsInfinite(points[i])) product = Times(product, points[i].zzz);
  }
  F inverse = Inverse(product);
  for (u64 i = count; i-- > 0;) {
    out[i] = ToAffine(points[i], Times(inverse, before[i]));
    if (!IsInfinite(points[i])) inverse = Times(inverse, points[i].zzz);
  }
}

struct PointAddOp {
  template <class Point>
  static CW_INLINE Point Second(const Point& b) {
    return b;
  }
};
struct PointSubtractOp {
  template <class Point>
  static CW_INLINE Point Second(const Point& b) {
    return Neg(b);
  }
};
template <class Op, class Point>
void PointPairs(const cw_launch& launch, u64 begin, u64 end) {
  using F = typename CoordinateOf<Point>::F;
  Rows<3> rows(launch.rank, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  ForEachBlockOf(kPointBlock, rows, begin, end, [&](u64 position, u64 count) {
    Point buffers[3][kPointBlock];
    Xyzz<F> sums[kPointBlock];
    const Point* a = FetchBlock(rows, 1, Data<const Point>(launch, 1), position, count, buffers[1]);
    const Point* b = FetchBlock(rows, 2, Data<const Point>(launch, 2), position, count, buffers[2]);
    for (u64 i = 0; i < count; ++i) sums[i] = Add(ToXyzz(a[i]), Op::Second(b[i]));
    Point* out = OpenBlock(rows, 0, Data<Point>(launch, 0), position, buffers[0]);
    ToAffineAll(sums, out, count);
    FlushBlock(rows, 0, Data<Point>(launch, 0), position, count, out);
  });
}
template <class V, class In, class Out>
void PointAdd(const cw_launch& launch, u64 begin, u64 end, void*) {
  PointPairs<PointAddOp, Out>(launch, begin, end);
}
template <class V, class In, class Out>
void PointSubtract(const cw_launch& launch, u64 begin, u64 end, void*) {
  PointPairs<PointSubtractOp, Out>(launch, begin, end);
}

template <class V, class In, class Out>
void PointNegative(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  ForEachBlockOf(kPointBlock, rows, begin, end, [&](u64 position, u64 count) {
    Out buffers[2][kPointBlock];
    const Out* a = FetchBlock(rows, 1, Data<const Out>(launch, 1), position, count, buffers[1]);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffers[0]);
    for (u64 i = 0; i < count; ++i) out[i] = Neg(a[i]);
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

template <bool equal, class In>
void PointsEqual(const cw_launch& launch, u64 begin, u64 end) {
  Rows<3> rows(launch.rank, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  ForEachBlockOf(kPointBlock, rows, begin, end, [&](u64 position, u64 count) {
    In buffers[2][kPointBlock];
    Bool answers[kPointBlock];
    const In* a = FetchBlock(rows, 1, Data<const In>(launch, 1), position, count, buffers[0]);
    const In* b = FetchBlock(rows, 2, Data<const In>(launch, 2), position, count, buffers[1]);
    Bool* out = OpenBlock(rows, 0, Data<Bool>(launch, 0), position, answers);
    for (u64 i = 0; i < count; ++i) {
      const bool same = Equal(a[i].x, b[i].x) && Equal(a[i].y, b[i].y);
      out[i] = {(uint8_t)(same == equal)};
    }
    FlushBlock(rows, 0, Data<Bool>(launch, 0), position, count, out);
  });
}
template <class V, class In, class Out>
void PointEqual(const cw_launch& launch, u64 begin, u64 end, void*) {
  PointsEqual<true, In>(launch, begin, end);
}
template <class V, class In, class Out>
void PointNotEqual(const cw_launch& launch, u64 begin, u64 end, void*) {
  PointsEqual<false, In>(launch, begin, end);
}

// dims: any, weight. out = scalar times point. If one point serves a long range, a table of its
// multiples is built for the range: both ways give the same point.
template <class V, class Scalar, class Point>
void CurveMul(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  using F = typename CoordinateOf<Point>::F;
  using Lanes = typename LanesFor<F>::V;
  const u32 rank = launch.rank - 1;
  Rows<3> rows(rank, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  const Point* points = Data<const Point>(launch, 2);
  bool fixed = end - begin >= kTableWorth;
  for (u32 axis = 0; axis < rank; ++axis) fixed &= Strides(launch, 2)[axis] == 0;
  u64* table = static_cast<u64*>(scratch);
  if (fixed) MakeTable<Lanes>(*points, table);
  ForEachBlockOf(kPointBlock, rows, begin, end, [&](u64 position, u64 count) {
    Scalar scalar_buffer[kPointBlock];
    Point point_buffer[kPointBlock], out_buffer[kPointBlock];
    Words<4> numbers[kPointBlock];
    Xyzz<F> results[kPointBlock];
    const Scalar* scalars = FetchBlock(rows, 1, Data<const Scalar>(launch, 1), position, count,
                                       scalar_buffer);
    for (u64 i = 0; i < count; ++i) numbers[i] = ToCanonical(scalars[i]);
    if (fixed) {
      TableMultiples<Lanes>(numbers, table, count, results);
    } else {
      Multiples<Lanes>(numbers, FetchBlock(rows, 2, points, position, count, point_buffer), count,
                       results);
    }
    Point* out = OpenBlock(rows, 0, Data<Point>(launch, 0), position, out_buffer);
    ToAffineAll(results, out, count);
    FlushBlock(rows, 0, Data<Point>(launch, 0), position, count, out);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_POINTWISE_H_
