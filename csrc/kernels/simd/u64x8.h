// Eight 64-bit words in each vector: AVX-512 F, DQ, VL, BW. u64x1.h defines each function.
#ifndef CLOAKWORK_KERNELS_SIMD_U64X8_H_
#define CLOAKWORK_KERNELS_SIMD_U64X8_H_

#include <immintrin.h>

#include "kernels/common.h"

namespace cw {
namespace {

struct U64x8 {
  static constexpr int kLanes = 8;
  static constexpr bool kHasMax = true;
  __m512i v;

  static CW_INLINE U64x8 Set(u64 x) { return {_mm512_set1_epi64((i64)x)}; }

  static CW_INLINE U64x8 Load(const u64* p) { return {_mm512_loadu_si512(p)}; }
  static CW_INLINE U64x8 Load(const i64* p) { return {_mm512_loadu_si512(p)}; }
  static CW_INLINE U64x8 Load(const int32_t* p) {
    return {_mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  static CW_INLINE U64x8 Load(const int8_t* p) {
    return {_mm512_cvtepi8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
  }
  template <int step, bool forward>
  static CW_INLINE U64x8 LoadTurned(const u64* p) {
    static_assert(step == 1 || step == 2 || step == 4, "what a vector of eight has");
    if constexpr (step == 1) return Load(p);
    const __m512i two = _mm512_broadcast_i64x2(_mm_loadu_si128((const __m128i*)p));
    if constexpr (step == 4) return {two};
    if constexpr (forward) {
      return {_mm512_mask_broadcast_i64x2(two, 0xf0, _mm_loadu_si128((const __m128i*)(p + 2)))};
    }
    return {_mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)p))};
  }

  CW_INLINE void Store(u64* p) const { _mm512_storeu_si512(p, v); }
  CW_INLINE void Store(i64* p) const { _mm512_storeu_si512(p, v); }
  CW_INLINE void Store(int32_t* p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi64_epi32(v));
  }
};

CW_INLINE U64x8 Add(U64x8 a, U64x8 b) { return {_mm512_add_epi64(a.v, b.v)}; }
CW_INLINE U64x8 Sub(U64x8 a, U64x8 b) { return {_mm512_sub_epi64(a.v, b.v)}; }
CW_INLINE U64x8 And(U64x8 a, U64x8 b) { return {_mm512_and_si512(a.v, b.v)}; }
CW_INLINE U64x8 Or(U64x8 a, U64x8 b) { return {_mm512_or_si512(a.v, b.v)}; }
CW_INLINE U64x8 Xor(U64x8 a, U64x8 b) { return {_mm512_xor_si512(a.v, b.v)}; }
CW_INLINE U64x8 ShiftLeft(U64x8 a, U64x8 count) { return {_mm512_sllv_epi64(a.v, count.v)}; }
CW_INLINE U64x8 ShiftRight(U64x8 a, U64x8 count) { return {_mm512_srlv_epi64(a.v, count.v)}; }
CW_INLINE U64x8 MulLow(U64x8 a, U64x8 b) { return {_mm512_mullo_epi64(a.v, b.v)}; }
CW_INLINE U64x8 MulLowDifference(U64x8 a, U64x8 b, U64x8 c, U64x8 d) {
  return {_mm512_sub_epi64(_mm512_mullo_epi64(a.v, b.v), _mm512_mullo_epi64(c.v, d.v))};
}
template <int count>
CW_INLINE U64x8 ShiftRightBy(U64x8 a) {
  return {_mm512_srli_epi64(a.v, count)};
}

// Schoolbook over halves of 32 bits; `middle` and `carry` stay below 2^64.
CW_INLINE U64x8 MulWide(U64x8 a, U64x8 b, U64x8& low) {
  const __m512i mask = _mm512_set1_epi64(0xffffffff);
  const __m512i a_high = _mm512_srli_epi64(a.v, 32), b_high = _mm512_srli_epi64(b.v, 32);
  const __m512i lowest = _mm512_mul_epu32(a.v, b.v);
  const __m512i middle =
      _mm512_add_epi64(_mm512_mul_epu32(a_high, b.v), _mm512_srli_epi64(lowest, 32));
  const __m512i carry =
      _mm512_add_epi64(_mm512_mul_epu32(a.v, b_high), _mm512_and_si512(middle, mask));
  const __m512i highest =
      _mm512_add_epi64(_mm512_mul_epu32(a_high, b_high), _mm512_srli_epi64(middle, 32));
  low.v = _mm512_mask_shuffle_epi32(lowest, 0xaaaa, carry, _MM_PERM_CCAA);
  return {_mm512_add_epi64(highest, _mm512_srli_epi64(carry, 32))};
}

CW_INLINE U64x8 MulHigh(U64x8 a, U64x8 b) {
  U64x8 low;
  return MulWide(a, b, low);
}

CW_INLINE void AddWide(U64x8& high, U64x8& low, U64x8 a, U64x8 b) {
  low = Add(low, b);
  const __mmask8 carry = _mm512_cmplt_epu64_mask(low.v, b.v);
  high = Add(high, a);
  high.v = _mm512_mask_sub_epi64(high.v, carry, high.v, _mm512_set1_epi64(-1));
}

// The greater of unsigned words.
CW_INLINE U64x8 Max(U64x8 a, U64x8 b) { return {_mm512_max_epu64(a.v, b.v)}; }

// x - m wraps to a greater word exactly if x < m.
CW_INLINE U64x8 SubIfAtLeast(U64x8 x, U64x8 m) {
  return {_mm512_min_epu64(x.v, _mm512_sub_epi64(x.v, m.v))};
}

CW_INLINE U64x8 AddIfNegative(U64x8 x, U64x8 m) {
  return {_mm512_mask_add_epi64(x.v, _mm512_movepi64_mask(x.v), x.v, m.v)};
}

CW_INLINE bool AnyBit(U64x8 x, U64x8 mask) { return _mm512_test_epi64_mask(x.v, mask.v) != 0; }
CW_INLINE bool AnyTopBit(U64x8 x) { return _mm512_movepi64_mask(x.v) != 0; }

CW_INLINE U64x8 LessWide(U64x8 high, U64x8 low, U64x8 bound_high, U64x8 bound_low) {
  const __mmask8 less = _mm512_cmplt_epu64_mask(high.v, bound_high.v);
  const __mmask8 equal = _mm512_cmpeq_epu64_mask(high.v, bound_high.v);
  const __mmask8 decided = _mm512_mask_cmplt_epu64_mask(equal, low.v, bound_low.v);
  return {_mm512_maskz_set1_epi64((__mmask8)(less | decided), 1)};
}

// Lane i is the lane of x that byte i of order names, in [0, 8).
CW_INLINE U64x8 Pick(U64x8 x, u64 order) {
  const __m512i lanes = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128((i64)order));
  return {_mm512_permutexvar_epi64(lanes, x.v)};
}

// Index bits are (vector; pair of lanes 1, 0; lane of a pair), in natural order (3; 2, 1; 0). One
// instruction for each vector exchanges two of them; those with two operands run beside
// multiplications, unlike general permutations of two vectors.
CW_INLINE void ExchangeLanes(U64x8& x, U64x8& y) {  // (v; c d; l) to (l; c d; v)
  const __m512i a = x.v, b = y.v;
  x.v = _mm512_unpacklo_epi64(a, b);
  y.v = _mm512_unpackhi_epi64(a, b);
}
CW_INLINE void ExchangeFarPairs(U64x8& x, U64x8& y) {  // (v; c d; l) to (c; v d; l)
  const __m512i a = x.v, b = y.v;
  x.v = _mm512_shuffle_i64x2(a, b, 0x44);
  y.v = _mm512_shuffle_i64x2(a, b, 0xee);
}
CW_INLINE void TurnPairs(U64x8& x, U64x8& y) {  // (v; c d; l) to (d; v c; l)
  const __m512i a = x.v, b = y.v;
  x.v = _mm512_shuffle_i64x2(a, b, 0x88);
  y.v = _mm512_shuffle_i64x2(a, b, 0xdd);
}
CW_INLINE void SwapMiddlePairs(U64x8& x, U64x8& y) {  // (v; c d; l) to (v; d c; l)
  x.v = _mm512_shuffle_i64x2(x.v, x.v, 0xd8);
  y.v = _mm512_shuffle_i64x2(y.v, y.v, 0xd8);
}

// Exchanges lane j of r[i] with lane i of r[j].
CW_INLINE void Transpose(U64x8 (&r)[8]) {
  for (int i = 0; i < 8; i += 2) ExchangeLanes(r[i], r[i + 1]);
  for (int i = 0; i < 8; i += 4) {
    TurnPairs(r[i], r[i + 2]);
    TurnPairs(r[i + 1], r[i + 3]);
  }
  for (int i = 0; i < 4; ++i) TurnPairs(r[i], r[i + 4]);
}

// Step 4: (2; 0 1; 3). Step 2: (1; 2 0; 3). Step 1: (0; 1 2; 3).
template <int step>
CW_INLINE void TurnTo(U64x8& x, U64x8& y) {
  if constexpr (step == 4) {
    ExchangeLanes(x, y);
    ExchangeFarPairs(x, y);
  } else {
    TurnPairs(x, y);
  }
}
CW_INLINE void TurnBack(U64x8& x, U64x8& y) {
  ExchangeLanes(x, y);
  SwapMiddlePairs(x, y);
}
// Step 1: (0; 1 2; 3). Step 2: (1; 0 2; 3). Step 4: (2; 1 0; 3).
CW_INLINE void TurnToLast(U64x8& x, U64x8& y) {
  SwapMiddlePairs(x, y);
  ExchangeLanes(x, y);
}
template <int step>
CW_INLINE void TurnFrom(U64x8& x, U64x8& y) {
  if constexpr (step == 1) {
    ExchangeFarPairs(x, y);
  } else {
    TurnPairs(x, y);
    if constexpr (step == 4) ExchangeLanes(x, y);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SIMD_U64X8_H_
