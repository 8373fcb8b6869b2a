// Eight elements of a quadratic extension, u^2 = -1, by 52-bit multiply-add.
//
// Both parts of a product are sums of two products that are reduced once: c0 = a0 b0 + (k p - a1)
// b1, c1 = a0 b1 + a1 b0, below (1 + e + 2 k y / kRoom) p for a < k p, b < y p. ifma.h defines e,
// and lanes.h defines each function.
#ifndef CLOAKWORK_KERNELS_CURVE_EIGHT_LANES2_H_
#define CLOAKWORK_KERNELS_CURVE_EIGHT_LANES2_H_

#include "kernels/curve/eight_lanes.h"
#include "kernels/field/extension.h"

#if defined(__AVX512IFMA__)

namespace cw {
namespace {

template <class P>
struct EightLanes2 {
  using Part = EightLanes<P>;
  using Scalar = Fp2<Fp<P>>;
  static constexpr int kLanes = 8;
  static constexpr int kWords = 2 * P::kWords;
  static constexpr u64 kFresh = Part::kFresh;
  Part c0, c1;
};

// Addresses of second parts.
template <class P, class Word>
struct SecondParts {
  Word* at[8];
  explicit CW_INLINE SecondParts(Word* const* first) {
    for (int i = 0; i < 8; ++i) at[i] = first[i] + P::kWords;
  }
};

template <class P>
CW_INLINE EightLanes2<P> GatherFresh(const u64* const* at, const EightLanes2<P>*) {
  const EightLanes<P>* part = nullptr;
  return {GatherFresh(at, part), GatherFresh(SecondParts<P, const u64>(at).at, part)};
}
template <class P>
CW_INLINE EightLanes2<P> GatherKept(const u64* const* at, const EightLanes2<P>*) {
  const EightLanes<P>* part = nullptr;
  return {GatherKept(at, part), GatherKept(SecondParts<P, const u64>(at).at, part)};
}
template <class P>
CW_INLINE void Keep(const EightLanes2<P>& a, u64* const* at) {
  Keep(a.c0, at);
  Keep(a.c1, SecondParts<P, u64>(at).at);
}
template <u64 k, class P>
__attribute__((noinline)) EightLanes2<P> Mul(const EightLanes2<P>& a, const EightLanes2<P>& b) {
  const FieldX8<P> negative = Negative<k>(a.c1.value);
  return {{MulSum(a.c0.value, b.c0.value, negative, b.c1.value)},
          {MulSum(a.c0.value, b.c1.value, a.c1.value, b.c0.value)}};
}
// (a0 + a1) (a0 - a1) + 2 a0 a1 u.
template <u64 k, class P>
__attribute__((noinline)) EightLanes2<P> Square(const EightLanes2<P>& a) {
  const FieldX8<P>&x = a.c0.value, &y = a.c1.value;
  return {{Mul(Add(x, y), Sub<k>(x, y))}, {Mul(Add(x, x), y)}};
}
template <class P>
CW_INLINE EightLanes2<P> AddLoose(const EightLanes2<P>& a, const EightLanes2<P>& b) {
  return {AddLoose(a.c0, b.c0), AddLoose(a.c1, b.c1)};
}
template <u64 k, class P>
CW_INLINE EightLanes2<P> SubLoose(const EightLanes2<P>& a, const EightLanes2<P>& b) {
  return {SubLoose<k>(a.c0, b.c0), SubLoose<k>(a.c1, b.c1)};
}
template <class P>
CW_INLINE EightLanes2<P> Tighten(const EightLanes2<P>& a) {
  return {Tighten(a.c0), Tighten(a.c1)};
}
template <class P>
CW_INLINE EightLanes2<P> Settle(const EightLanes2<P>& a) {
  return {Settle(a.c0), Settle(a.c1)};
}
template <class P>
CW_INLINE EightLanes2<P> NegateLoose(u32 mask, const EightLanes2<P>& a) {
  return {NegateLoose(mask, a.c0), NegateLoose(mask, a.c1)};
}
template <class P>
CW_INLINE EightLanes2<P> SelectLanes(u32 mask, const EightLanes2<P>& a, const EightLanes2<P>& b) {
  return {SelectLanes(mask, a.c0, b.c0), SelectLanes(mask, a.c1, b.c1)};
}
template <class P>
CW_INLINE u32 AllZeroBits(const EightLanes2<P>& a) {
  return AllZeroBits(a.c0) & AllZeroBits(a.c1);
}
template <class P>
CW_INLINE bool MayHaveZero(const EightLanes2<P>& product) {
  return MayHaveZero(product.c0) && MayHaveZero(product.c1);
}
template <class P>
CW_INLINE u32 ZeroLanes(const EightLanes2<P>& product) {
  return ZeroLanes(product.c0) & ZeroLanes(product.c1);
}
template <class P>
inline EightLanes2<P> FromScalars(const Fp2<Fp<P>>* values, const EightLanes2<P>*) {
  Fp<P> first[8], second[8];
  for (int i = 0; i < 8; ++i) {
    first[i] = values[i].c0;
    second[i] = values[i].c1;
  }
  const EightLanes<P>* part = nullptr;
  return {FromScalars(first, part), FromScalars(second, part)};
}
template <class P>
inline void ToScalars(const EightLanes2<P>& a, Fp2<Fp<P>>* values) {
  Fp<P> first[8], second[8];
  ToScalars(a.c0, first);
  ToScalars(a.c1, second);
  for (int i = 0; i < 8; ++i) values[i] = {first[i], second[i]};
}

}  // namespace
}  // namespace cw

#endif  // __AVX512IFMA__

#endif  // CLOAKWORK_KERNELS_CURVE_EIGHT_LANES2_H_
