// Products with constants: a precomputed quotient reduces the cost to three quarters of
// Montgomery's (Shoup; Harvey, arXiv:1205.2926, on words of 52 bits here).
#ifndef CLOAKWORK_KERNELS_FIELD_SHOUP_H_
#define CLOAKWORK_KERNELS_FIELD_SHOUP_H_

#include "kernels/field/ifma_products.h"
#include "kernels/field/scalar.h"

namespace cw {
namespace {

// w in [0, p), and floor(w 2^260 / p).
struct Constant52 {
  u64 value[5], quotient[5];
};

// The low 5 limbs of a product.
CW_INLINE Words<5> LowProduct52(const Words<5>& a, const Words<5>& b) {
  u128 sum[5] = {};
  Words<5> result = {};
  u128 carry = 0;
  for (u32 i = 0; i < 5; ++i) {
    for (u32 j = 0; j <= i; ++j) {
      const u128 product = (u128)a.word[j] * b.word[i - j];
      sum[i] += (u64)product & kMask52;
      if (i < 4) sum[i + 1] += (u64)(product >> 52);
    }
    carry += sum[i];
    result.word[i] = (u64)carry & kMask52;
    carry >>= 52;
  }
  return result;
}

// -p^-1 mod 2^260.
template <class P>
inline Words<5> NegativeInverse260() {
  const Words<5> p = Cut52<5>(P::kModulus);
  Words<5> x = {{P::template kInverse52<4>, 0, 0, 0, 0}};
  for (int i = 0; i < 3; ++i) {
    // x (2 + p x): correct bits double.
    Words<5> t = LowProduct52(p, x);
    t.word[0] += 2;
    for (u32 j = 0; j + 1 < 5; ++j) {
      t.word[j + 1] += t.word[j] >> 52;
      t.word[j] &= kMask52;
    }
    t.word[4] &= kMask52;
    x = LowProduct52(x, t);
  }
  return x;
}

// The constant of an element: with r = w 2^260 mod p, w 2^260 - r is a multiple of p, so that the
// quotient is -r p^-1 mod 2^260.
template <class P>
inline Constant52 ConstantOf(const Fp<P>& w, const Words<5>& negative_inverse) {
  const Words<5> value = Cut52<5>(ToCanonical(w));
  const Words<5> r = Cut52<5>(Double(Double(Double(Double(w)))).value);
  const Words<5> quotient = LowProduct52(r, negative_inverse);
  Constant52 constant;
  for (u32 i = 0; i < 5; ++i) {
    constant.value[i] = value.word[i];
    constant.quotient[i] = quotient.word[i];
  }
  return constant;
}

#if defined(__AVX512IFMA__)

// start + (a w mod p), the product below 11 p; a normal, any value below 2^260; the sum below
// 2^260, normal.
//
// The quotient omits the five lowest limbs of a w', which are below 9 2^260, and the part that
// Shoup's quotient omits: it is at most 10 too small.
template <class P>
CW_INLINE FieldX8<P> AddConstantProduct(const FieldX8<P>& start, const FieldX8<P>& a,
                                        const Constant52& w) {
  constexpr auto p = FieldX8<P>::template kTimes<1>;
  constexpr u64 kNegative[5] = {kMask52 + 1 - p.word[0], kMask52 - p.word[1], kMask52 - p.word[2],
                                kMask52 - p.word[3], kMask52 - p.word[4]};  // 2^260 - p
  const __m512i zero = _mm512_setzero_si512();
  __m512i q[5] = {zero, zero, zero, zero, zero};
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
#pragma GCC unroll 5
    for (int j = 0; j < 5; ++j) {
      const __m512i factor = Word8(w.quotient[j]);
      if (i + j >= 5) q[i + j - 5] = _mm512_madd52lo_epu64(q[i + j - 5], a.limb[i], factor);
      if (i + j >= 4) q[i + j - 4] = _mm512_madd52hi_epu64(q[i + j - 4], a.limb[i], factor);
    }
  }
#pragma GCC unroll 5
  for (int i = 0; i < 4; ++i) q[i + 1] = _mm512_add_epi64(q[i + 1], _mm512_srli_epi64(q[i], 52));
  FieldX8<P> r = start;
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
#pragma GCC unroll 5
    for (int j = 0; j + i < 5; ++j) {
      const __m512i factor = Word8(w.value[j]);
      r.limb[i + j] = _mm512_madd52lo_epu64(r.limb[i + j], a.limb[i], factor);
      if (i + j == 4) continue;
      r.limb[i + j + 1] = _mm512_madd52hi_epu64(r.limb[i + j + 1], a.limb[i], factor);
    }
  }
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
#pragma GCC unroll 5
    for (int j = 0; j + i < 5; ++j) {
      const __m512i factor = Word8(kNegative[j]);
      r.limb[i + j] = _mm512_madd52lo_epu64(r.limb[i + j], q[i], factor);
      if (i + j < 4) r.limb[i + j + 1] = _mm512_madd52hi_epu64(r.limb[i + j + 1], q[i], factor);
    }
  }
  r = Normal(r);
  r.limb[4] = _mm512_and_si512(r.limb[4], Word8(kMask52));
  return r;
}

// a w mod p, below 11 p.
template <class P>
CW_INLINE FieldX8<P> MulConstant(const FieldX8<P>& a, const Constant52& w) {
  FieldX8<P> zero;
  for (int i = 0; i < 5; ++i) zero.limb[i] = _mm512_setzero_si512();
  return AddConstantProduct(zero, a, w);
}

// a - k p below 2 p, limbs of any sign; a normal, below 24 p (or 35 p where R > 84 p).
template <class P>
CW_INLINE FieldX8<P> ReduceWide(const FieldX8<P>& a) {
  constexpr auto p = FieldX8<P>::template kTimes<1>;
  const __m512i zero = _mm512_setzero_si512();
  // floor(2^260 / p) a_4 / 2^52: below the quotient, by less than 2.
  const __m512i q = _mm512_madd52hi_epu64(zero, a.limb[4], Word8(FieldX8<P>::kRoom));
  __m512i t[5] = {zero, zero, zero, zero, zero};
#pragma GCC unroll 5
  for (int j = 0; j < 5; ++j) {
    t[j] = _mm512_madd52lo_epu64(t[j], q, Word8(p.word[j]));
    if (j < 4) t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], q, Word8(p.word[j]));
  }
  FieldX8<P> r;
  for (int j = 0; j < 5; ++j) r.limb[j] = _mm512_sub_epi64(a.limb[j], t[j]);
  return r;
}

#endif

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_SHOUP_H_
