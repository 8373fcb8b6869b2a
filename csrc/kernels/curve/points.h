// Points of y^2 = x^3 + b, one at a time: affine, and in XYZZ coordinates.
//
// Affine (x, y); infinity is (0, 0), which is on no curve here. XYZZ: x = X / ZZ, y = Y / ZZZ with
// ZZ^3 = ZZZ^2, ZZ = 0 at infinity. Formulas: Bernstein and Lange, Explicit-Formulas Database,
// shortw/xyzz: madd-2008-s, add-2008-s, mdbl-2008-s-1, dbl-2008-s-1 with a = 0. Every case is
// covered: equal, opposite and infinite points.
#ifndef CLOAKWORK_KERNELS_CURVE_POINTS_H_
#define CLOAKWORK_KERNELS_CURVE_POINTS_H_

#include "kernels/field/elements.h"

namespace cw {
namespace {

// Products as calls: a formula has dozens of products, and a call costs little beside one.
template <class F>
__attribute__((noinline)) F Times(const F& a, const F& b) {
  return Mul(a, b);
}
template <class F>
__attribute__((noinline)) F Squared(const F& a) {
  return Square(a);
}
#if defined(CW_CUDA) && !defined(CW_CUDA_UNITS)
// On GPUs a call costs its operands a way through memory.
template <class P>
CW_INLINE Fp<P> Times(const Fp<P>& a, const Fp<P>& b) {
  return Mul(a, b);
}
template <class P>
CW_INLINE Fp<P> Squared(const Fp<P>& a) {
  return Square(a);
}
#endif

template <class F>
struct Xyzz {
  F x, y, zz, zzz;
};

template <class F>
CW_INLINE bool IsInfinite(const Affine<F>& a) {
  return IsZero(a.x) && IsZero(a.y);
}
template <class F>
CW_INLINE bool IsInfinite(const Xyzz<F>& a) {
  return IsZero(a.zz);
}
template <class F>
CW_INLINE Xyzz<F> InfiniteXyzz() {
  return {OneOf<F>(), OneOf<F>(), ZeroOf<F>(), ZeroOf<F>()};
}
template <class F>
CW_INLINE Affine<F> Neg(const Affine<F>& a) {
  return {a.x, Neg(a.y)};
}
template <class F>
CW_INLINE Xyzz<F> ToXyzz(const Affine<F>& a) {
  if (IsInfinite(a)) return InfiniteXyzz<F>();
  return {a.x, a.y, OneOf<F>(), OneOf<F>()};
}

template <class F>
CW_CALLED Xyzz<F> Double(const Xyzz<F>& a) {
  const F u = Double(a.y), v = Squared(u), w = Times(u, v), s = Times(a.x, v);
  const F xx = Squared(a.x), m = Add(Double(xx), xx);
  const F x = Sub(Squared(m), Double(s));
  return {x, Sub(Times(m, Sub(s, x)), Times(w, a.y)), Times(v, a.zz), Times(w, a.zzz)};
}

// The sum, given u = x2 zz1 - x1 zz2 and r = y2 zzz1 - y1 zzz2; zz and zzz are the products of both
// points' zz and zzz.
template <class F>
CW_INLINE Xyzz<F> AddFrom(const F& u1, const F& s1, const F& u, const F& r, const F& zz,
                          const F& zzz) {
  const F uu = Squared(u), uuu = Times(u, uu), q = Times(u1, uu);
  const F x = Sub(Sub(Squared(r), uuu), Double(q));
  return {x, Sub(Times(r, Sub(q, x)), Times(s1, uuu)), Times(zz, uu), Times(zzz, uuu)};
}

template <class F>
CW_CALLED Xyzz<F> Add(const Xyzz<F>& a, const Xyzz<F>& b) {
  if (IsInfinite(a)) return b;
  if (IsInfinite(b)) return a;
  const F u1 = Times(a.x, b.zz), s1 = Times(a.y, b.zzz);
  const F u = Sub(Times(b.x, a.zz), u1), r = Sub(Times(b.y, a.zzz), s1);
  if (IsZero(u)) return IsZero(r) ? Double(a) : InfiniteXyzz<F>();
  return AddFrom(u1, s1, u, r, Times(a.zz, b.zz), Times(a.zzz, b.zzz));
}

template <class F>
CW_INLINE Xyzz<F> AddPoint(const Xyzz<F>& a, const Affine<F>& b) {
  if (IsInfinite(b)) return a;
  if (IsInfinite(a)) return ToXyzz(b);
  const F u = Sub(Times(b.x, a.zz), a.x), r = Sub(Times(b.y, a.zzz), a.y);
  if (IsZero(u)) return IsZero(r) ? Double(a) : InfiniteXyzz<F>();
  return AddFrom(a.x, a.y, u, r, a.zz, a.zzz);
}
template <class F>
CW_CALLED Xyzz<F> Add(const Xyzz<F>& a, const Affine<F>& b) {
  return AddPoint(a, b);
}

// The affine point, given 1 / ZZZ: 1 / Z = ZZ / ZZZ, so that x = X ZZ^2 / ZZZ^2.
template <class F>
CW_INLINE Affine<F> ToAffine(const Xyzz<F>& a, const F& inverse) {
  if (IsInfinite(a)) return {};
  return {Times(a.x, Squared(Times(a.zz, inverse))), Times(a.y, inverse)};
}
template <class F>
CW_CALLED Affine<F> ToAffine(const Xyzz<F>& a) {
  return ToAffine(a, Inverse(a.zzz));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_POINTS_H_
