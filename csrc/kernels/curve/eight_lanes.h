// Eight elements of a prime field, by 52-bit multiply-add. lanes.h defines each function.
#ifndef CLOAKWORK_KERNELS_CURVE_EIGHT_LANES_H_
#define CLOAKWORK_KERNELS_CURVE_EIGHT_LANES_H_

#include "kernels/field/ifma_products.h"
#include "kernels/field/scalar.h"

#if defined(__AVX512IFMA__)

namespace cw {
namespace {

template <class P>
struct EightLanes {
  using Scalar = Fp<P>;
  static constexpr int kLanes = 8;
  static constexpr int kWords = P::kWords;
  static constexpr u64 kFresh = (u64)1 << P::kShift52;
  FieldX8<P> value;
};

template <class P>
CW_INLINE EightLanes<P> GatherFresh(const u64* const* at, const EightLanes<P>*) {
  __m512i word[P::kWords];
  GatherWords<P::kWords>(at, word);
  return {FromWords<FieldX8<P>, P::kShift52>(word)};
}
template <class P>
CW_INLINE EightLanes<P> GatherKept(const u64* const* at, const EightLanes<P>*) {
  __m512i word[P::kWords];
  GatherWords<P::kWords>(at, word);
  return {FromWords<FieldX8<P>, 0>(word)};
}
template <class P>
CW_INLINE void Keep(const EightLanes<P>& a, u64* const* at) {
  __m512i word[P::kWords];
  ToWords(a.value, word);
  ScatterWords<P::kWords>(word, at);
}
template <u64 k, class P>
CW_INLINE EightLanes<P> Mul(const EightLanes<P>& a, const EightLanes<P>& b) {
  return {Mul(a.value, b.value)};
}
template <u64 k, class P>
CW_INLINE EightLanes<P> Square(const EightLanes<P>& a) {
  return {Square(a.value)};
}
// Limbs without carries: not yet tight or settled.
template <class P>
CW_INLINE EightLanes<P> AddLoose(const EightLanes<P>& a, const EightLanes<P>& b) {
  return {AddWide(a.value, b.value)};
}
// a - b + k p.
template <u64 k, class P>
CW_INLINE EightLanes<P> SubLoose(const EightLanes<P>& a, const EightLanes<P>& b) {
  return {AddTimesWide<k>(SubWide(a.value, b.value))};
}
template <class P>
CW_INLINE EightLanes<P> Tighten(const EightLanes<P>& a) {
  return {Normal(a.value)};
}

// a - q p in [0, 2 p), for loose limbs of a in [p, 72 p), of 6 words [p, 2^34 p), each below 2^55
// in magnitude. Lower limbs then carry less than 16 to or from the highest, h: the quotient
// q = floor((h - 16) kRoom / 2^52) is at most a / p, and less by no more than 1 for the floor, 0.6
// for the reciprocal, (a / p)(R / p - kRoom) / (R / p), and 2^-11 for the carries. -q p is added
// modulo R, as q (R - p).
template <class P>
CW_INLINE EightLanes<P> Settle(const EightLanes<P>& a) {
  constexpr int n = FieldX8<P>::kLimbs;
  constexpr Words<n> negative = [] {
    u64 borrow = 0;
    Words<n> r = Cut52<n>(P::kModulus);
    for (int i = 0; i < n; ++i) {
      r.word[i] = 0 - r.word[i] - borrow;
      borrow = r.word[i] >> 63;
      r.word[i] &= kMask52;
    }
    return r;
  }();
  const __m512i zero = _mm512_setzero_si512();
  const __m512i high = _mm512_sub_epi64(a.value.limb[n - 1], Word8(16));
  const __m512i q = _mm512_madd52hi_epu64(zero, high, Word8(FieldX8<P>::kRoom));
  FieldX8<P> r = a.value;
  for (int i = 0; i < n; ++i) {
    r.limb[i] = _mm512_madd52lo_epu64(r.limb[i], q, Word8(negative.word[i]));
    if (i + 1 < n) r.limb[i + 1] = _mm512_madd52hi_epu64(r.limb[i + 1], q, Word8(negative.word[i]));
  }
  r = Normal(r);
  r.limb[n - 1] = _mm512_and_si512(r.limb[n - 1], Word8(kMask52));
  return {r};
}
template <class P>
CW_INLINE EightLanes<P> SelectLanes(u32 mask, const EightLanes<P>& a, const EightLanes<P>& b) {
  return {Select((__mmask8)mask, a.value, b.value)};
}
// Lanes that are 0 mod p, of a product below 8 p.
template <class P>
CW_INLINE u32 ZeroLanes(const EightLanes<P>& product) {
  const FieldX8<P>& a = product.value;
  return IsZeroLimbs(a) | IsTimes<1>(a) | IsTimes<2>(a) | IsTimes<3>(a) | IsTimes<4>(a) |
         IsTimes<5>(a) | IsTimes<6>(a) | IsTimes<7>(a);
}
// Lanes that may be 0 mod p: the lowest limb is one of k p for k < 8, k being that limb by p.
template <class P>
CW_INLINE bool MayHaveZero(const EightLanes<P>& product) {
  constexpr u64 inverse = kMask52 + 1 - FieldX8<P>::kInverse;
  const __m512i zero = _mm512_setzero_si512();
  const __m512i k = _mm512_madd52lo_epu64(zero, product.value.limb[0], Word8(inverse));
  return _mm512_cmplt_epu64_mask(k, Word8(8)) != 0;
}
// From memory's form to the lanes', settled, and back.
template <class P>
CW_INLINE EightLanes<P> FromScalars(const Fp<P>* values, const EightLanes<P>*) {
  const u64* at[8];
  for (int i = 0; i < 8; ++i) at[i] = values[i].value.word;
  const EightLanes<P> fresh = GatherFresh(at, (const EightLanes<P>*)nullptr);
  return Settle<P>({AddTimesWide<1>(fresh.value)});
}
template <class P>
CW_INLINE void ToScalars(const EightLanes<P>& a, Fp<P>* values) {
  constexpr Words<P::kWords> one = PowerOfTwo(64 * P::kWords, P::kModulus);
  const auto form = BroadcastWords<FieldX8<P>, 0>(one.word);
  __m512i word[P::kWords];
  ToWords(Canonical<4>(Mul(a.value, form)), word);
  u64* at[8];
  for (int i = 0; i < 8; ++i) at[i] = values[i].value.word;
  ScatterWords<P::kWords>(word, at);
}

template <class P>
CW_INLINE EightLanes<P> NegateLoose(u32 mask, EightLanes<P> a) {
  const __m512i zero = _mm512_setzero_si512();
  for (auto& limb : a.value.limb) {
    limb = _mm512_mask_sub_epi64(limb, (__mmask8)mask, zero, limb);
  }
  return a;
}
template <class P>
CW_INLINE u32 AllZeroBits(const EightLanes<P>& a) {
  return IsZeroLimbs(a.value);
}

}  // namespace
}  // namespace cw

#endif  // __AVX512IFMA__

#endif  // CLOAKWORK_KERNELS_CURVE_EIGHT_LANES_H_
