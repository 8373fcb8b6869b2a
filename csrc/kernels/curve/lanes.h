// Arithmetic for the formulas of curves: on one element, or eight, of a prime field or of its
// quadratic extension.
//
// A lane type V has kLanes; kWords, the words of an element; Scalar, the type of one element;
// kFresh. Ranges are multiples of p, and a bound k of a function is one of its first operand. An
// element that GatherFresh read from a tensor is "fresh", below kFresh; a result of Settle, which
// Keep stores for GatherKept, is "settled", below kSettled. Loose values have limbs that carry:
// they are made tight or settled before they are multiplied. Masks have one bit for each lane.
#ifndef CLOAKWORK_KERNELS_CURVE_LANES_H_
#define CLOAKWORK_KERNELS_CURVE_LANES_H_

#include "kernels/curve/eight_lanes.h"
#include "kernels/curve/eight_lanes2.h"
#include "kernels/curve/one_lane.h"

namespace cw {
namespace {

// In multiples of p; fits the words of an element.
constexpr u64 kSettled = 2;

// Selects the lane type for coordinates of a type.
template <class F>
struct LanesFor {
  using V = OneLane<F>;
};
#if defined(__AVX512IFMA__)
// Loose values approach 72 p, and Settle accepts them only if they fit the limbs: not modulo the
// primes of Pallas and Vesta, for which R is 64 p.
template <class P, class Eight, class One, bool fits = FieldX8<P>::kRoom >= 72>
struct EightWhereTheyFit {
  using V = Eight;
};
template <class P, class Eight, class One>
struct EightWhereTheyFit<P, Eight, One, false> {
  using V = One;
};
template <class P>
struct LanesFor<Fp<P>> : EightWhereTheyFit<P, EightLanes<P>, OneLane<Fp<P>>> {};
template <class P>
struct LanesFor<Fp2<Fp<P>>> : EightWhereTheyFit<P, EightLanes2<P>, OneLane<Fp2<Fp<P>>>> {};
#endif

template <class V>
CW_INLINE V GatherFresh(const u64* const* at) {
  return GatherFresh(at, static_cast<const V*>(nullptr));
}
template <class V>
CW_INLINE V GatherKept(const u64* const* at) {
  return GatherKept(at, static_cast<const V*>(nullptr));
}
// One in every lane, settled.
template <class V>
inline V OneLanes() {
  typename V::Scalar one[V::kLanes];
  for (int i = 0; i < V::kLanes; ++i) one[i] = OneOf<typename V::Scalar>();
  return FromScalars(one, static_cast<const V*>(nullptr));
}
template <class V>
inline V ZeroLanesOf() {
  V zero;
  memset(&zero, 0, sizeof zero);
  return zero;
}
template <u64 k, class V>
CW_INLINE V SubTight(const V& a, const V& b) {
  return Tighten(SubLoose<k>(a, b));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_LANES_H_
