// Montgomery products of eight elements at once, by 52-bit multiply-add. ifma.h defines forms and
// ranges.
#ifndef CLOAKWORK_KERNELS_FIELD_IFMA_PRODUCTS_H_
#define CLOAKWORK_KERNELS_FIELD_IFMA_PRODUCTS_H_

#include "kernels/field/ifma.h"

#if defined(__AVX512IFMA__)

namespace cw {
namespace {

// t += a b, from limb i of t on.
template <int i, int n, int size>
CW_INLINE void AddRow(__m512i (&t)[size], const __m512i (&a)[n], __m512i b) {
#pragma GCC unroll 8
  for (int j = 0; j < n; ++j) t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[j], b);
#pragma GCC unroll 8
  for (int j = 0; j < n; ++j) t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[j], b);
}

// Removes one limb: limbs i + 1 .. of t become t_i 2^-52 + their number, modulo p. With t_i = 2^52
// h + l that is h + l kStep for kStep = 2^-52, or h + 1 + (2^52 - l) kStep for kStep = -2^-52: no
// step waits for a quotient. The last limb uses a quotient, so that the result is small: the added
// multiple of p makes that limb the next multiple of 2^52.
template <class P, int i, int size>
CW_INLINE void DropLimb(__m512i (&t)[size]) {
  using F = FieldX8<P>;
  constexpr int n = F::kLimbs;
  const __m512i zero = _mm512_setzero_si512(), mask = Word8(kMask52);
  if constexpr (i + 1 < n) {
    const __m512i factor = F::kStep.negative ? _mm512_sub_epi64(zero, t[i]) : t[i];
    const __m512i up = F::kStep.negative ? _mm512_add_epi64(t[i], mask) : t[i];
    t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srli_epi64(up, 52));
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
      const __m512i step = Word8(F::kStep.factor.word[j]);
      t[i + 1 + j] = _mm512_madd52lo_epu64(t[i + 1 + j], factor, step);
    }
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
      const __m512i step = Word8(F::kStep.factor.word[j]);
      t[i + 2 + j] = _mm512_madd52hi_epu64(t[i + 2 + j], factor, step);
    }
  } else {
    constexpr auto p = F::template kTimes<1>;
    const __m512i m = _mm512_madd52lo_epu64(zero, t[i], Word8(F::kInverse));
    t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srli_epi64(_mm512_add_epi64(t[i], mask), 52));
#pragma GCC unroll 8
    for (int j = 1; j < n; ++j) {
      t[i + j] = _mm512_madd52lo_epu64(t[i + j], m, Word8(p.word[j]));
    }
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
      t[i + 1 + j] = _mm512_madd52hi_epu64(t[i + 1 + j], m, Word8(p.word[j]));
    }
  }
}
template <class P, int size>
CW_INLINE FieldX8<P> HighLimbs(const __m512i (&t)[size]) {
  FieldX8<P> r;
  for (int j = 0; j < size / 2; ++j) r.limb[j] = t[size / 2 + j];
  return Normal(r);
}

template <class P, int i>
CW_INLINE void MulRows(__m512i (&t)[2 * FieldX8<P>::kLimbs], const FieldX8<P>& a,
                       const FieldX8<P>& b) {
  if constexpr (i < FieldX8<P>::kLimbs) {
    AddRow<i>(t, a.limb, b.limb[i]);
    DropLimb<P, i>(t);
    MulRows<P, i + 1>(t, a, b);
  }
}
template <class P, int i>
CW_INLINE void MulSumRows(__m512i (&t)[2 * FieldX8<P>::kLimbs], const FieldX8<P>& a,
                          const FieldX8<P>& b, const FieldX8<P>& c, const FieldX8<P>& d) {
  if constexpr (i < FieldX8<P>::kLimbs) {
    AddRow<i>(t, a.limb, b.limb[i]);
    AddRow<i>(t, c.limb, d.limb[i]);
    DropLimb<P, i>(t);
    MulSumRows<P, i + 1>(t, a, b, c, d);
  }
}
template <class P, int i>
CW_INLINE void DropLimbs(__m512i (&t)[2 * FieldX8<P>::kLimbs]) {
  if constexpr (i < FieldX8<P>::kLimbs) {
    DropLimb<P, i>(t);
    DropLimbs<P, i + 1>(t);
  }
}

// (a b + c d) / R mod p, normal; below (1 + e + (x y + z w) / kRoom) p.
template <class P>
CW_INLINE FieldX8<P> MulSum(const FieldX8<P>& a, const FieldX8<P>& b, const FieldX8<P>& c,
                            const FieldX8<P>& d) {
  __m512i t[2 * FieldX8<P>::kLimbs];
  for (__m512i& limb : t) limb = _mm512_setzero_si512();
  MulSumRows<P, 0>(t, a, b, c, d);
  return HighLimbs<P>(t);
}

// a b / R mod p, below (1 + e + x y / kRoom) p, normal.
template <class P>
CW_INLINE FieldX8<P> Mul(const FieldX8<P>& a, const FieldX8<P>& b) {
  __m512i t[2 * FieldX8<P>::kLimbs];
  for (__m512i& limb : t) limb = _mm512_setzero_si512();
  MulRows<P, 0>(t, a, b);
  return HighLimbs<P>(t);
}

// t = a^2: each product of two limbs once, doubled.
template <int n>
CW_INLINE void SquareLimbs(__m512i (&t)[2 * n], const __m512i (&a)[n]) {
  for (__m512i& limb : t) limb = _mm512_setzero_si512();
#pragma GCC unroll 5
  for (int i = 0; i + 1 < n; ++i) {
#pragma GCC unroll 5
    for (int j = i + 1; j < n; ++j) t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[i], a[j]);
#pragma GCC unroll 5
    for (int j = i + 1; j < n; ++j) t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[i], a[j]);
  }
#pragma GCC unroll 10
  for (int i = 1; i + 1 < 2 * n; ++i) t[i] = _mm512_add_epi64(t[i], t[i]);
#pragma GCC unroll 5
  for (int i = 0; i < n; ++i) {
    t[2 * i] = _mm512_madd52lo_epu64(t[2 * i], a[i], a[i]);
    t[2 * i + 1] = _mm512_madd52hi_epu64(t[2 * i + 1], a[i], a[i]);
  }
}
// a^2 / R, as Mul. The sixteen sums of eight limbs do not fit the registers beside the other
// values: then a product is faster.
template <class P>
CW_INLINE FieldX8<P> Square(const FieldX8<P>& a) {
  constexpr int n = FieldX8<P>::kLimbs;
  if constexpr (n == 8) {
    return Mul(a, a);
  } else {
    __m512i t[2 * n];
    SquareLimbs<n>(t, a.limb);
    DropLimbs<P, 0>(t);
    return HighLimbs<P>(t);
  }
}

}  // namespace
}  // namespace cw

#endif  // __AVX512IFMA__

#endif  // CLOAKWORK_KERNELS_FIELD_IFMA_PRODUCTS_H_
