// sum_b b B_b over buckets b = 1 .. n of kept affine points: each lane has a segment of buckets, a
// running sum of the buckets from the last and the sum of the running sums.
#ifndef CLOAKWORK_KERNELS_CURVE_BUCKET_SUMS_H_
#define CLOAKWORK_KERNELS_CURVE_BUCKET_SUMS_H_

#include "kernels/curve/pair_sums.h"

namespace cw {
namespace {

// Points in XYZZ coordinates, all settled. Coordinates of infinite lanes are undefined.
template <class V>
struct XyzzLanes {
  V x, y, zz, zzz;
  u32 infinite;
};

template <class V>
CW_INLINE void SelectPoints(u32 mask, XyzzLanes<V>& a, const XyzzLanes<V>& b) {
  a.x = SelectLanes(mask, a.x, b.x);
  a.y = SelectLanes(mask, a.y, b.y);
  a.zz = SelectLanes(mask, a.zz, b.zz);
  a.zzz = SelectLanes(mask, a.zzz, b.zzz);
  a.infinite = (a.infinite & ~mask) | (b.infinite & mask);
}

template <class V>
inline void ToPoints(const XyzzLanes<V>& a, Xyzz<typename V::Scalar>* points) {
  typename V::Scalar part[V::kLanes];
  ToScalars(a.x, part);
  for (int i = 0; i < V::kLanes; ++i) points[i].x = part[i];
  ToScalars(a.y, part);
  for (int i = 0; i < V::kLanes; ++i) points[i].y = part[i];
  ToScalars(a.zz, part);
  for (int i = 0; i < V::kLanes; ++i) points[i].zz = part[i];
  ToScalars(a.zzz, part);
  for (int i = 0; i < V::kLanes; ++i) points[i].zzz = part[i];
  for (int i = 0; i < V::kLanes; ++i) {
    if ((a.infinite >> i & 1) != 0) points[i] = InfiniteXyzz<typename V::Scalar>();
  }
}

// Adds the lanes whose points have equal x, one after another; keeps the sums of the other lanes.
template <class V>
__attribute__((noinline)) void AddEqualLanes(u32 lanes, const XyzzLanes<V>& a,
                                             const XyzzLanes<V>& b, XyzzLanes<V>& sum) {
  using F = typename V::Scalar;
  const V* none = nullptr;
  Xyzz<F> left[V::kLanes], right[V::kLanes];
  F x[V::kLanes], y[V::kLanes], zz[V::kLanes], zzz[V::kLanes];
  ToPoints(a, left);
  ToPoints(b, right);
  u32 infinite = 0;
  for (int i = 0; i < V::kLanes; ++i) {
    Xyzz<F> own = InfiniteXyzz<F>();
    if ((lanes >> i & 1) != 0) own = Add(left[i], right[i]);
    infinite |= (u32)IsInfinite(own) << i;
    x[i] = own.x;
    y[i] = own.y;
    zz[i] = own.zz;
    zzz[i] = own.zzz;
  }
  SelectPoints(lanes, sum,
               {FromScalars(x, none), FromScalars(y, none), FromScalars(zz, none),
                FromScalars(zzz, none), infinite});
}

// a + b where b's zz and zzz are 1 (affine) or not. Formulas: see points.h.
template <bool affine, class V>
__attribute__((noinline)) XyzzLanes<V> AddPoints(const XyzzLanes<V>& a, const XyzzLanes<V>& b) {
  constexpr u64 k = kSettled;
  const V u1 = affine ? a.x : Mul<k>(a.x, b.zz), s1 = affine ? a.y : Mul<k>(a.y, b.zzz);
  const V u = SubTight<k>(Mul<k>(b.x, a.zz), u1);
  const V r = SubTight<k>(Mul<k>(b.y, a.zzz), s1);
  const V uu = Square<2 * k>(u), uuu = Mul<2 * k>(u, uu), q = Mul<k>(u1, uu);
  XyzzLanes<V> sum;
  sum.x = Settle(SubLoose<3 * k + 1>(Square<2 * k>(r), AddLoose(uuu, AddLoose(q, q))));
  sum.y = Settle(SubLoose<k + 1>(Mul<2 * k>(SubTight<k>(q, sum.x), r), Mul<k>(s1, uuu)));
  sum.zz = Mul<k>(affine ? a.zz : Mul<k>(a.zz, b.zz), uu);
  sum.zzz = Mul<k>(affine ? a.zzz : Mul<k>(a.zzz, b.zzz), uuu);
  sum.infinite = 0;
  if (__builtin_expect(MayHaveZero(uu), 0)) {
    const u32 equal = ZeroLanes(uu) & ~(a.infinite | b.infinite);
    if (equal != 0) AddEqualLanes(equal, a, b, sum);
  }
  SelectPoints(a.infinite, sum, b);
  SelectPoints(b.infinite & ~a.infinite, sum, a);
  return sum;
}

// `buckets`: kept points 1 .. count, count a multiple of the lanes.
template <class V>
Xyzz<typename V::Scalar> SumBuckets(u64* buckets, u64 count) {
  using F = typename V::Scalar;
  constexpr int lanes = V::kLanes;
  const u64 segment = count / lanes;
  const V one = OneLanes<V>();
  XyzzLanes<V> running = {one, one, one, one, (1u << lanes) - 1}, total = running;
  for (u64 i = segment; i-- > 0;) {
    const u64* at[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      at[lane] = buckets + (lane * segment + i) * 2 * V::kWords;
    }
    const PointLanes<V> bucket = LoadPoints<false, V>(at);
    running = AddPoints<true>(running, {bucket.x, bucket.y, one, one, InfiniteLanes(bucket)});
    total = AddPoints<false>(total, running);
  }
  // Lane l holds buckets l segment + 1 ..: its sum still needs l segment times its points.
  Xyzz<F> sums[lanes], totals[lanes];
  ToPoints(running, sums);
  ToPoints(total, totals);
  Xyzz<F> tail = InfiniteXyzz<F>(), weighted = tail;
  for (int lane = lanes; lane-- > 1;) {
    tail = Add(tail, sums[lane]);
    weighted = Add(weighted, tail);
  }
  for (u64 step = 1; step < segment; step *= 2) weighted = Double(weighted);
  for (int lane = 0; lane < lanes; ++lane) weighted = Add(weighted, totals[lane]);
  return weighted;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_BUCKET_SUMS_H_
