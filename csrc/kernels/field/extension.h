// Quadratic extensions F[u] / (u^2 + 1): coordinates of points of twists.
#ifndef CLOAKWORK_KERNELS_FIELD_EXTENSION_H_
#define CLOAKWORK_KERNELS_FIELD_EXTENSION_H_

#include "kernels/field/scalar.h"

namespace cw {
namespace {

// c0 + c1 u.
template <class F>
struct Fp2 {
  F c0, c1;
};

template <class F>
CW_INLINE Fp2<F> Zero(const Fp2<F>*) {
  return {};
}
template <class F>
CW_INLINE Fp2<F> One(const Fp2<F>*) {
  return {OneOf<F>(), ZeroOf<F>()};
}
template <class F>
CW_INLINE bool Equal(const Fp2<F>& a, const Fp2<F>& b) {
  return Equal(a.c0, b.c0) && Equal(a.c1, b.c1);
}
template <class F>
CW_INLINE bool IsZero(const Fp2<F>& a) {
  return IsZero(a.c0) && IsZero(a.c1);
}
template <class F>
CW_INLINE Fp2<F> Add(const Fp2<F>& a, const Fp2<F>& b) {
  return {Add(a.c0, b.c0), Add(a.c1, b.c1)};
}
template <class F>
CW_INLINE Fp2<F> Sub(const Fp2<F>& a, const Fp2<F>& b) {
  return {Sub(a.c0, b.c0), Sub(a.c1, b.c1)};
}
template <class F>
CW_INLINE Fp2<F> Neg(const Fp2<F>& a) {
  return {Neg(a.c0), Neg(a.c1)};
}
// Three products (Karatsuba and Ofman, 1962).
template <class F>
CW_INLINE Fp2<F> Mul(const Fp2<F>& a, const Fp2<F>& b) {
  const F low = Mul(a.c0, b.c0), high = Mul(a.c1, b.c1);
  const F both = Mul(Add(a.c0, a.c1), Add(b.c0, b.c1));
  return {Sub(low, high), Sub(Sub(both, low), high)};
}
// (c0 + c1)(c0 - c1) + 2 c0 c1 u.
template <class F>
CW_INLINE Fp2<F> Square(const Fp2<F>& a) {
  const F product = Mul(a.c0, a.c1);
  return {Mul(Add(a.c0, a.c1), Sub(a.c0, a.c1)), Add(product, product)};
}
// (c0 - c1 u) / (c0^2 + c1^2); 0 for 0.
template <class F>
inline Fp2<F> Inverse(const Fp2<F>& a) {
  const F inverse = Inverse(Add(Square(a.c0), Square(a.c1)));
  return {Mul(a.c0, inverse), Neg(Mul(a.c1, inverse))};
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_EXTENSION_H_
