// Eight elements of a prime field at once, by 52-bit multiply-add.
//
// An element is kLimbs limbs of 52 bits (5 for primes of 4 words, 8 for those of 6), limb i of all
// eight in one vector. Products are Montgomery's with R = 2^(52 kLimbs); memory holds Montgomery
// form with 2^(64 kWords). Two ways of reading join the two:
//   LoadRaw      the words as they are, below p
//   LoadShifted  times 2^kShift52, by a shift, below 2^kShift52 p: the element in form R. And
//                Mul(LoadShifted(a), LoadRaw(b)) is the product in the form of memory.
//
// Ranges: functions state their bounds in multiples of p. Mul(a, b) < (1 + e + x y / kRoom) p for a
// < x p, b < y p, R > kRoom p and e = kStep / p, which is below 0.26 (of bls12_381.fr, below
// 2^-19); limbs of operands of products are below 2^52 ("normal"). Sums and differences are
// computed without carries (Wide) and made normal once.
#ifndef CLOAKWORK_KERNELS_FIELD_IFMA_H_
#define CLOAKWORK_KERNELS_FIELD_IFMA_H_

#include "kernels/field/primes.h"
#include "kernels/simd/muladd52.h"

#if defined(__AVX512IFMA__)

namespace cw {
namespace {

// a k as limbs of 52 bits.
template <u32 limbs, u32 words>
constexpr Words<limbs> TimesLimbs(const Words<words>& a, u64 k) {
  Words<limbs> product = Cut52<limbs>(a);
  u128 carry = 0;
  for (u32 i = 0; i < limbs; ++i) {
    carry += (u128)product.word[i] * k;
    product.word[i] = (u64)carry & kMask52;
    carry >>= 52;
  }
  return product;
}

// 2^-52 mod p, or its difference to p if that is less.
template <u32 limbs>
struct StepDown {
  Words<limbs> factor;
  bool negative;
};
template <u32 limbs, u32 words>
constexpr StepDown<limbs> StepDownOf(const Words<words>& p, u64 negative_inverse) {
  const bool negative = negative_inverse >> 51 != 0;
  // (k p + 1) / 2^52 for k = -p^-1 mod 2^52, and p minus it, (k p - 1) / 2^52, for k = p^-1 mod
  // 2^52.
  const u64 k = negative ? kMask52 + 1 - negative_inverse : negative_inverse;
  const Words<limbs> q = Cut52<limbs>(p);
  StepDown<limbs> step = {{}, negative};
  u128 carry = ((u128)q.word[0] * k >> 52) + (negative ? 0 : 1);
  for (u32 i = 1; i < limbs; ++i) {
    carry += (u128)q.word[i] * k;
    step.factor.word[i - 1] = (u64)carry & kMask52;
    carry >>= 52;
  }
  step.factor.word[limbs - 1] = (u64)carry;
  return step;
}

// Eight elements modulo a prime of primes.h.
template <class Prime_>
struct FieldX8 {
  using Prime = Prime_;
  static constexpr int kWords = Prime::kWords;
  static constexpr int kLimbs = Prime::kWords52;
  static_assert(kWords == 4 || kWords == 6, "four or six words");
  // R > kRoom p.
  static constexpr u64 kRoom = (u64)(((u128)1 << (52 * kLimbs - 64 * (kWords - 1))) /
                                     ((u128)Prime::kModulus.word[kWords - 1] + 1));
  static constexpr u64 kInverse = Prime::template kInverse52<kWords>;
  static constexpr StepDown<kLimbs> kStep = StepDownOf<kLimbs>(Prime::kModulus, kInverse);
  // The multiple k p, below R.
  template <u64 k>
  static constexpr Words<kLimbs> kTimes = TimesLimbs<kLimbs>(Prime::kModulus, k);

  __m512i limb[kLimbs];
};

CW_INLINE __m512i Word8(u64 x) { return _mm512_set1_epi64((i64)x); }

// ---- memory

// Words of eight elements, word i of all in word[i], times 2^shift, to limbs.
template <class F, int shift>
CW_INLINE F FromWords(const __m512i (&word)[F::kWords]) {
  F r;
  const __m512i mask = Word8(kMask52);
  for (int i = 0; i < F::kLimbs; ++i) {
    const int bit = 52 * i - shift;
    if (bit + 52 <= 0) {
      r.limb[i] = _mm512_setzero_si512();
      continue;
    }
    if (bit < 0) {
      r.limb[i] = _mm512_and_si512(_mm512_slli_epi64(word[0], -bit), mask);
      continue;
    }
    const int at = bit / 64, offset = bit % 64;
    __m512i part = offset == 0 ? word[at] : _mm512_srli_epi64(word[at], offset);
    if (offset > 12 && at + 1 < F::kWords) {
      // Bits offset .. offset + 63 of two words.
      part = _mm512_or_si512(part, _mm512_slli_epi64(word[at + 1], 64 - offset));
    }
    r.limb[i] = at + 1 == F::kWords && offset >= 12 ? part : _mm512_and_si512(part, mask);
  }
  return r;
}

// Normal limbs, value below 2^(64 kWords), to words.
template <class F>
CW_INLINE void ToWords(const F& a, __m512i (&word)[F::kWords]) {
  for (int i = 0; i < F::kWords; ++i) {
    const int bit = 64 * i, at = bit / 52, offset = bit % 52;
    __m512i part = offset == 0 ? a.limb[at] : _mm512_srli_epi64(a.limb[at], offset);
    part = _mm512_or_si512(part, _mm512_slli_epi64(a.limb[at + 1], 52 - offset));
    if (offset > 40 && at + 2 < F::kLimbs) {
      part = _mm512_or_si512(part, _mm512_slli_epi64(a.limb[at + 2], 104 - offset));
    }
    word[i] = part;
  }
}

// Lane j of row i is lane i of row j.
CW_INLINE void Transpose8(__m512i (&r)[8]) {
  __m512i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_epi64(r[i], r[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      b[i + j] = _mm512_shuffle_i64x2(a[i + j], a[i + j + 2], 0x88);
      b[i + j + 2] = _mm512_shuffle_i64x2(a[i + j], a[i + j + 2], 0xdd);
    }
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i64x2(b[i], b[i + 4], 0x88);
    r[i + 4] = _mm512_shuffle_i64x2(b[i], b[i + 4], 0xdd);
  }
}

// Rows of four words of eight elements, two elements a vector (0 and 2, 1 and 3, 4 and 6, 5 and 7),
// to words, and back.
CW_INLINE void Transpose4(const __m512i (&pair)[4], __m512i (&word)[4]) {
  const __m512i a = _mm512_unpacklo_epi64(pair[0], pair[1]);  // 0.0 1.0 0.2 1.2 2.0 3.0 2.2 3.2
  const __m512i b = _mm512_unpackhi_epi64(pair[0], pair[1]);
  const __m512i c = _mm512_unpacklo_epi64(pair[2], pair[3]);
  const __m512i d = _mm512_unpackhi_epi64(pair[2], pair[3]);
  word[0] = _mm512_shuffle_i64x2(a, c, 0x88);
  word[1] = _mm512_shuffle_i64x2(b, d, 0x88);
  word[2] = _mm512_shuffle_i64x2(a, c, 0xdd);
  word[3] = _mm512_shuffle_i64x2(b, d, 0xdd);
}
CW_INLINE void Untranspose4(const __m512i (&word)[4], __m512i (&pair)[4]) {
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const __m512i a = _mm512_unpacklo_epi64(word[0], word[1]);  // 0.0 0.1 2.0 2.1 4.0 4.1 6.0 6.1
  const __m512i b = _mm512_unpackhi_epi64(word[0], word[1]);
  const __m512i c = _mm512_unpacklo_epi64(word[2], word[3]);
  const __m512i d = _mm512_unpackhi_epi64(word[2], word[3]);
  pair[0] = _mm512_permutex2var_epi64(a, low, c);
  pair[1] = _mm512_permutex2var_epi64(b, low, d);
  pair[2] = _mm512_permutex2var_epi64(a, high, c);
  pair[3] = _mm512_permutex2var_epi64(b, high, d);
}

// Words of elements at eight places.
template <int words>
CW_INLINE void GatherWords(const u64* const* at, __m512i (&word)[words]) {
  if constexpr (words == 4) {
    __m512i pair[4];
    for (int i = 0; i < 4; ++i) {
      const int element = i / 2 * 4 + i % 2;
      const __m256i first = _mm256_loadu_si256((const __m256i*)at[element]);
      const __m256i second = _mm256_loadu_si256((const __m256i*)at[element + 2]);
      pair[i] = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
    }
    Transpose4(pair, word);
  } else {
    __m512i row[8];
    for (int i = 0; i < 8; ++i) row[i] = _mm512_maskz_loadu_epi64((1 << words) - 1, at[i]);
    Transpose8(row);
    for (int i = 0; i < words; ++i) word[i] = row[i];
  }
}

template <int words>
CW_INLINE void ScatterWords(const __m512i (&word)[words], u64* const* at) {
  if constexpr (words == 4) {
    __m512i pair[4];
    Untranspose4(word, pair);
    for (int i = 0; i < 4; ++i) {
      const int element = i / 2 * 4 + i % 2;
      _mm256_storeu_si256((__m256i*)at[element], _mm512_castsi512_si256(pair[i]));
      _mm256_storeu_si256((__m256i*)at[element + 2], _mm512_extracti64x4_epi64(pair[i], 1));
    }
  } else {
    __m512i row[8];
    for (int i = 0; i < 8; ++i) row[i] = i < words ? word[i] : _mm512_setzero_si512();
    Transpose8(row);
    for (int i = 0; i < 8; ++i) _mm512_mask_storeu_epi64(at[i], (1 << words) - 1, row[i]);
  }
}

// Eight neighbours. For four words, lanes are elements 0 2 1 3 4 6 5 7; for six words lane i is
// element i. StoreWords reverses this.
template <class F>
CW_INLINE void LoadWords(const u64* base, __m512i (&word)[F::kWords]) {
  if constexpr (F::kWords == 4) {
    __m512i pair[4];
    for (int i = 0; i < 4; ++i) pair[i] = _mm512_loadu_si512(base + 8 * i);
    Transpose4(pair, word);
  } else {
    const u64* at[8];
    for (int i = 0; i < 8; ++i) at[i] = base + F::kWords * i;
    GatherWords<F::kWords>(at, word);
  }
}
template <class F>
CW_INLINE void StoreWords(const __m512i (&word)[F::kWords], u64* base) {
  if constexpr (F::kWords == 4) {
    __m512i pair[4];
    Untranspose4(word, pair);
    for (int i = 0; i < 4; ++i) _mm512_storeu_si512(base + 8 * i, pair[i]);
  } else {
    u64* at[8];
    for (int i = 0; i < 8; ++i) at[i] = base + F::kWords * i;
    ScatterWords<F::kWords>(word, at);
  }
}
template <class F>
CW_INLINE F LoadRaw(const u64* base) {
  __m512i word[F::kWords];
  LoadWords<F>(base, word);
  return FromWords<F, 0>(word);
}
template <class F>
CW_INLINE F LoadShifted(const u64* base) {
  __m512i word[F::kWords];
  LoadWords<F>(base, word);
  return FromWords<F, F::Prime::kShift52>(word);
}
// a normal and below 2^(64 kWords).
template <class F>
CW_INLINE void Store(const F& a, u64* base) {
  __m512i word[F::kWords];
  ToWords(a, word);
  StoreWords<F>(word, base);
}
// One element in every lane.
template <class F, int shift>
CW_INLINE F BroadcastWords(const u64* element) {
  __m512i word[F::kWords];
  for (int i = 0; i < F::kWords; ++i) word[i] = Word8(element[i]);
  return FromWords<F, shift>(word);
}

// ---- sums

// Limbs of any sign with |limb| < 2^62, value in [0, R), to normal ones.
template <class P>
CW_INLINE FieldX8<P> Normal(FieldX8<P> a) {
  const __m512i mask = Word8(kMask52);
  for (int i = 0; i + 1 < FieldX8<P>::kLimbs; ++i) {
    a.limb[i + 1] = _mm512_add_epi64(a.limb[i + 1], _mm512_srai_epi64(a.limb[i], 52));
    a.limb[i] = _mm512_and_si512(a.limb[i], mask);
  }
  return a;
}

template <class P>
CW_INLINE FieldX8<P> AddWide(FieldX8<P> a, const FieldX8<P>& b) {
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) a.limb[i] = _mm512_add_epi64(a.limb[i], b.limb[i]);
  return a;
}
template <class P>
CW_INLINE FieldX8<P> SubWide(FieldX8<P> a, const FieldX8<P>& b) {
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) a.limb[i] = _mm512_sub_epi64(a.limb[i], b.limb[i]);
  return a;
}
template <u64 k, class P>
CW_INLINE FieldX8<P> AddTimesWide(FieldX8<P> a) {
  constexpr auto multiple = FieldX8<P>::template kTimes<k>;
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) {
    a.limb[i] = _mm512_add_epi64(a.limb[i], Word8(multiple.word[i]));
  }
  return a;
}

// a + b.
template <class P>
CW_INLINE FieldX8<P> Add(const FieldX8<P>& a, const FieldX8<P>& b) {
  return Normal(AddWide(a, b));
}
// a - b + k p, b <= k p.
template <u64 k, class P>
CW_INLINE FieldX8<P> Sub(const FieldX8<P>& a, const FieldX8<P>& b) {
  return Normal(AddTimesWide<k>(SubWide(a, b)));
}
// k p - a, a <= k p.
template <u64 k, class P>
CW_INLINE FieldX8<P> Negative(const FieldX8<P>& a) {
  FieldX8<P> zero;
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) zero.limb[i] = _mm512_setzero_si512();
  return Sub<k>(zero, a);
}
// a 2^bits, with limbs below 2^(52 + bits): not yet normal.
template <int bits, class P>
CW_INLINE FieldX8<P> ShiftLeftWide(FieldX8<P> a) {
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) a.limb[i] = _mm512_slli_epi64(a.limb[i], bits);
  return a;
}

// Lanes of b where the mask is set, else of a.
template <class P>
CW_INLINE FieldX8<P> Select(__mmask8 mask, const FieldX8<P>& a, const FieldX8<P>& b) {
  FieldX8<P> r;
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) {
    r.limb[i] = _mm512_mask_mov_epi64(a.limb[i], mask, b.limb[i]);
  }
  return r;
}

// a, or a - k p if that is not negative: [0, 2k p) to [0, k p). a is normal.
template <u64 k, class P>
CW_INLINE FieldX8<P> SubIfAtLeast(const FieldX8<P>& a) {
  constexpr auto multiple = FieldX8<P>::template kTimes<k>;
  FieldX8<P> t = a;
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) {
    t.limb[i] = _mm512_sub_epi64(t.limb[i], Word8(multiple.word[i]));
  }
  t = Normal(t);
  return Select(_mm512_movepi64_mask(t.limb[FieldX8<P>::kLimbs - 1]), t, a);
}

// From [0, bound p), bound a power of two, to [0, p).
template <u64 bound, class P>
CW_INLINE FieldX8<P> Canonical(FieldX8<P> a) {
  if constexpr (bound > 1) {
    a = SubIfAtLeast<bound / 2>(a);
    return Canonical<bound / 2>(a);
  }
  return a;
}

// Lanes whose limbs are all 0.
template <class P>
CW_INLINE __mmask8 IsZeroLimbs(const FieldX8<P>& a) {
  __m512i any = a.limb[0];
  for (int i = 1; i < FieldX8<P>::kLimbs; ++i) any = _mm512_or_si512(any, a.limb[i]);
  return _mm512_testn_epi64_mask(any, any);
}
// Lanes equal to k p.
template <u64 k, class P>
CW_INLINE __mmask8 IsTimes(const FieldX8<P>& a) {
  constexpr auto multiple = FieldX8<P>::template kTimes<k>;
  __mmask8 equal = 0xff;
  for (int i = 0; i < FieldX8<P>::kLimbs; ++i) {
    equal = _mm512_mask_cmpeq_epi64_mask(equal, a.limb[i], Word8(multiple.word[i]));
  }
  return equal;
}

}  // namespace
}  // namespace cw

#endif  // __AVX512IFMA__

#endif  // CLOAKWORK_KERNELS_FIELD_IFMA_H_
