// Scalar multiplication, lane by lane: by doubling, or by a table of one point's multiples.
#ifndef CLOAKWORK_KERNELS_CURVE_MULTIPLES_H_
#define CLOAKWORK_KERNELS_CURVE_MULTIPLES_H_

#include "kernels/curve/bucket_sums.h"
#include "kernels/curve/digits.h"
#include "kernels/curve/msm_shape.h"

namespace cw {
namespace {

template <class Point>
struct CoordinateOf;
template <class F_>
struct CoordinateOf<Affine<F_>> {
  using F = F_;
};

template <class V>
__attribute__((noinline)) XyzzLanes<V> DoublePoints(const XyzzLanes<V>& a) {
  constexpr u64 k = kSettled;
  const V u = Tighten(AddLoose(a.y, a.y)), v = Square<2 * k>(u), w = Mul<2 * k>(u, v);
  const V s = Mul<k>(a.x, v), xx = Square<k>(a.x);
  const V m = Tighten(AddLoose(xx, AddLoose(xx, xx)));
  XyzzLanes<V> r;
  r.x = Settle(SubLoose<2 * k + 1>(Square<3 * k>(m), AddLoose(s, s)));
  r.y = Settle(SubLoose<k + 1>(Mul<2 * k>(SubTight<k>(s, r.x), m), Mul<k>(w, a.y)));
  r.zz = Mul<k>(v, a.zz);
  r.zzz = Mul<k>(w, a.zzz);
  r.infinite = a.infinite;
  return r;
}

template <class V>
inline XyzzLanes<V> InfiniteLanesOf() {
  const V one = OneLanes<V>();
  return {one, one, one, one, (1u << V::kLanes) - 1};
}

// Stores the points of lanes `from` .. as results.
template <class V>
inline void PutPoints(const XyzzLanes<V>& sum, u64 from, u64 count,
                      Xyzz<typename V::Scalar>* results) {
  Xyzz<typename V::Scalar> own[V::kLanes];
  ToPoints(sum, own);
  for (u64 i = 0; i < Min(V::kLanes, count - from); ++i) results[from + i] = own[i];
}

// results[i] = numbers[i] points[i]; lanes after the last point repeat it.
template <class V, class F>
void Multiples(const Words<4>* numbers, const Affine<F>* points, u64 count, Xyzz<F>* results) {
  constexpr int lanes = V::kLanes;
  for (u64 from = 0; from < count; from += lanes) {
    F x[lanes], y[lanes];
    u32 infinite = 0;
    for (int i = 0; i < lanes; ++i) {
      const Affine<F>& point = points[Min(from + (u64)i, count - 1)];
      x[i] = point.x;
      y[i] = point.y;
      infinite |= (u32)IsInfinite(point) << i;
    }
    const V* none = nullptr;
    const V one = OneLanes<V>();
    const XyzzLanes<V> base = {FromScalars(x, none), FromScalars(y, none), one, one, infinite};
    XyzzLanes<V> sum = InfiniteLanesOf<V>();
    for (u64 bit = 256; bit-- > 0;) {
      u32 absent = 0;
      for (int i = 0; i < lanes; ++i) {
        const Words<4>& number = numbers[Min(from + (u64)i, count - 1)];
        absent |= (u32)(~number.word[bit / 64] >> (bit % 64) & 1) << i;
      }
      sum = DoublePoints(sum);
      XyzzLanes<V> term = base;
      term.infinite |= absent;
      if (term.infinite != (1u << lanes) - 1) sum = AddPoints<true>(sum, term);
    }
    PutPoints(sum, from, count, results);
  }
}

// 1 .. 128 times 2^(8 i) point, for i below 32: kept points. Multiples of a point of large order
// are never infinite; those of the point at infinity always are.
template <class V, class F>
void MakeTable(const Affine<F>& point, u64* table) {
  constexpr int lanes = V::kLanes;
  constexpr u64 words = 2 * V::kWords;
  Xyzz<F> base = ToXyzz(point);
  for (u64 window = 0; window < kTableWindows; ++window) {
    Xyzz<F> own[kTableMultiples];
    own[0] = base;
    for (u64 i = 1; i < kTableMultiples; ++i) own[i] = Add(own[i - 1], base);
    base = Double(own[kTableMultiples - 1]);
    for (u64 i = 0; i < kTableMultiples; i += lanes) {
      F x[lanes], y[lanes], product = OneOf<F>(), before[lanes];
      for (int lane = 0; lane < lanes; ++lane) {
        before[lane] = product;
        if (!IsInfinite(own[i + lane])) product = Times(product, own[i + lane].zzz);
      }
      F inverse = Inverse(product);
      u64* to[lanes];
      for (int lane = lanes; lane-- > 0;) {
        const Xyzz<F>& multiple = own[i + lane];
        const Affine<F> affine = ToAffine(multiple, Times(inverse, before[lane]));
        if (!IsInfinite(multiple)) inverse = Times(inverse, multiple.zzz);
        x[lane] = affine.x;
        y[lane] = affine.y;
        to[lane] = table + (window * kTableMultiples + i + lane) * words;
      }
      const V* none = nullptr;
      KeepPoints(FromScalars(x, none), FromScalars(y, none), to);
    }
  }
  if (IsInfinite(point)) memset(table, 0, 8 * words * kTableWindows * kTableMultiples);
}

template <class V, class F>
void TableMultiples(const Words<4>* numbers, const u64* table, u64 count, Xyzz<F>* results) {
  constexpr int lanes = V::kLanes;
  constexpr u64 words = 2 * V::kWords;
  const V one = OneLanes<V>(), zero = ZeroLanesOf<V>();
  for (u64 from = 0; from < count; from += lanes) {
    int16_t digits[lanes][kTableWindows];
    for (int i = 0; i < lanes; ++i) {
      SignedDigits(numbers[Min(from + (u64)i, count - 1)], 8, kTableWindows, digits[i], 1);
    }
    XyzzLanes<V> sum = InfiniteLanesOf<V>();
    for (u64 window = 0; window < kTableWindows; ++window) {
      const u64* at[lanes];
      u32 absent = 0, negative = 0;
      for (int i = 0; i < lanes; ++i) {
        const i64 digit = digits[i][window];
        const u64 size = (u64)(digit < 0 ? -digit : digit);
        absent |= (u32)(digit == 0) << i;
        negative |= (u32)(digit < 0) << i;
        at[i] = table + (window * kTableMultiples + (size == 0 ? 0 : size - 1)) * words;
      }
      const PointLanes<V> term = LoadPoints<false, V>(at);
      const V y = SelectLanes(negative, term.y, SubTight<kSettled>(zero, term.y));
      sum = AddPoints<true>(sum, {term.x, y, one, one, absent | InfiniteLanes(term)});
    }
    PutPoints(sum, from, count, results);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_MULTIPLES_H_
