// Four 64-bit words in each vector: AVX2. u64x1.h defines each function.
#ifndef CLOAKWORK_KERNELS_SIMD_U64X4_H_
#define CLOAKWORK_KERNELS_SIMD_U64X4_H_

#include <immintrin.h>

#include "kernels/common.h"

namespace cw {
namespace {

struct U64x4 {
  static constexpr int kLanes = 4;
  static constexpr bool kHasMax = false;
  __m256i v;

  static CW_INLINE U64x4 Set(u64 x) { return {_mm256_set1_epi64x((i64)x)}; }

  static CW_INLINE U64x4 Load(const u64* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  static CW_INLINE U64x4 Load(const i64* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  static CW_INLINE U64x4 Load(const int32_t* p) {
    return {_mm256_cvtepi32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
  }
  static CW_INLINE U64x4 Load(const int8_t* p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return {_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four))};
  }
  template <int step, bool>
  static CW_INLINE U64x4 LoadTurned(const u64* p) {
    static_assert(step == 1 || step == 2, "what a vector of four has");
    if constexpr (step == 1) return Load(p);
    return {_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)p))};
  }

  CW_INLINE void Store(u64* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  CW_INLINE void Store(i64* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  CW_INLINE void Store(int32_t* p) const {
    const __m256i even = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(even));
  }
};

CW_INLINE U64x4 Add(U64x4 a, U64x4 b) { return {_mm256_add_epi64(a.v, b.v)}; }
CW_INLINE U64x4 Sub(U64x4 a, U64x4 b) { return {_mm256_sub_epi64(a.v, b.v)}; }
CW_INLINE U64x4 And(U64x4 a, U64x4 b) { return {_mm256_and_si256(a.v, b.v)}; }
CW_INLINE U64x4 Or(U64x4 a, U64x4 b) { return {_mm256_or_si256(a.v, b.v)}; }
CW_INLINE U64x4 Xor(U64x4 a, U64x4 b) { return {_mm256_xor_si256(a.v, b.v)}; }
CW_INLINE U64x4 ShiftLeft(U64x4 a, U64x4 count) { return {_mm256_sllv_epi64(a.v, count.v)}; }
CW_INLINE U64x4 ShiftRight(U64x4 a, U64x4 count) { return {_mm256_srlv_epi64(a.v, count.v)}; }

// low(a) * low(b) + ((high(a) * low(b) + low(a) * high(b)) << 32), halves of 32 bits.
CW_INLINE U64x4 MulLow(U64x4 a, U64x4 b) {
  const __m256i a_high = _mm256_srli_epi64(a.v, 32), b_high = _mm256_srli_epi64(b.v, 32);
  const __m256i cross =
      _mm256_add_epi64(_mm256_mul_epu32(a_high, b.v), _mm256_mul_epu32(a.v, b_high));
  return {_mm256_add_epi64(_mm256_mul_epu32(a.v, b.v), _mm256_slli_epi64(cross, 32))};
}

// a b - c d: the products of upper halves are combined before they are shifted.
CW_INLINE U64x4 MulLowDifference(U64x4 a, U64x4 b, U64x4 c, U64x4 d) {
  const __m256i a_high = _mm256_srli_epi64(a.v, 32), b_high = _mm256_srli_epi64(b.v, 32);
  const __m256i c_high = _mm256_srli_epi64(c.v, 32), d_high = _mm256_srli_epi64(d.v, 32);
  const __m256i plus =
      _mm256_add_epi64(_mm256_mul_epu32(a_high, b.v), _mm256_mul_epu32(a.v, b_high));
  const __m256i minus =
      _mm256_add_epi64(_mm256_mul_epu32(c_high, d.v), _mm256_mul_epu32(c.v, d_high));
  const __m256i cross = _mm256_slli_epi64(_mm256_sub_epi64(plus, minus), 32);
  const __m256i low = _mm256_sub_epi64(_mm256_mul_epu32(a.v, b.v), _mm256_mul_epu32(c.v, d.v));
  return {_mm256_add_epi64(low, cross)};
}

template <int count>
CW_INLINE U64x4 ShiftRightBy(U64x4 a) {
  return {_mm256_srli_epi64(a.v, count)};
}

// Schoolbook over halves; `middle` and `carry` stay below 2^64.
CW_INLINE U64x4 MulWide(U64x4 a, U64x4 b, U64x4& low) {
  const __m256i mask = _mm256_set1_epi64x(0xffffffff);
  const __m256i a_high = _mm256_srli_epi64(a.v, 32), b_high = _mm256_srli_epi64(b.v, 32);
  const __m256i lowest = _mm256_mul_epu32(a.v, b.v);
  const __m256i middle =
      _mm256_add_epi64(_mm256_mul_epu32(a_high, b.v), _mm256_srli_epi64(lowest, 32));
  const __m256i carry =
      _mm256_add_epi64(_mm256_mul_epu32(a.v, b_high), _mm256_and_si256(middle, mask));
  const __m256i highest =
      _mm256_add_epi64(_mm256_mul_epu32(a_high, b_high), _mm256_srli_epi64(middle, 32));
  low.v = _mm256_blend_epi32(lowest, _mm256_slli_epi64(carry, 32), 0xaa);
  return {_mm256_add_epi64(highest, _mm256_srli_epi64(carry, 32))};
}

CW_INLINE U64x4 MulHigh(U64x4 a, U64x4 b) {
  U64x4 low;
  return MulWide(a, b, low);
}

// All ones where a < b as unsigned words, else 0.
CW_INLINE U64x4 LessMask(U64x4 a, U64x4 b) {
  const __m256i sign = _mm256_set1_epi64x((i64)((u64)1 << 63));
  return {_mm256_cmpgt_epi64(_mm256_xor_si256(b.v, sign), _mm256_xor_si256(a.v, sign))};
}

CW_INLINE void AddWide(U64x4& high, U64x4& low, U64x4 a, U64x4 b) {
  low = Add(low, b);
  high = Sub(Add(high, a), LessMask(low, b));
}

// The top bit of x - m tells whether x < m, and selects.
CW_INLINE U64x4 SubIfAtLeast(U64x4 x, U64x4 m) {
  const __m256d reduced = _mm256_castsi256_pd(_mm256_sub_epi64(x.v, m.v));
  return {_mm256_castpd_si256(_mm256_blendv_pd(reduced, _mm256_castsi256_pd(x.v), reduced))};
}

CW_INLINE U64x4 AddIfNegative(U64x4 x, U64x4 m) {
  const __m256i negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), x.v);
  return {_mm256_add_epi64(x.v, _mm256_and_si256(negative, m.v))};
}

CW_INLINE bool AnyBit(U64x4 x, U64x4 mask) { return _mm256_testz_si256(x.v, mask.v) == 0; }
CW_INLINE bool AnyTopBit(U64x4 x) { return _mm256_movemask_pd(_mm256_castsi256_pd(x.v)) != 0; }

CW_INLINE U64x4 LessWide(U64x4 high, U64x4 low, U64x4 bound_high, U64x4 bound_low) {
  const __m256i less = _mm256_cmpgt_epi64(bound_high.v, high.v);  // both below 2^63
  const __m256i equal = _mm256_cmpeq_epi64(bound_high.v, high.v);
  const __m256i decided = _mm256_and_si256(equal, LessMask(low, bound_low).v);
  return {_mm256_srli_epi64(_mm256_or_si256(less, decided), 63)};
}

// Index bits are (vector; pair of lanes; lane of a pair), in natural order (2; 1; 0).
CW_INLINE void ExchangeLanes(U64x4& x, U64x4& y) {  // (v; c; l) to (l; c; v)
  const __m256i a = x.v, b = y.v;
  x.v = _mm256_unpacklo_epi64(a, b);
  y.v = _mm256_unpackhi_epi64(a, b);
}
CW_INLINE void ExchangePairs(U64x4& x, U64x4& y) {  // (v; c; l) to (c; v; l)
  const __m256i a = x.v, b = y.v;
  x.v = _mm256_permute2x128_si256(a, b, 0x20);
  y.v = _mm256_permute2x128_si256(a, b, 0x31);
}

CW_INLINE void Transpose(U64x4 (&r)[4]) {
  for (int i = 0; i < 4; i += 2) ExchangeLanes(r[i], r[i + 1]);
  for (int i = 0; i < 2; ++i) ExchangePairs(r[i], r[i + 2]);
}

// Step 2: (1; 0; 2). Step 1: (0; 1; 2).
template <int step>
CW_INLINE void TurnTo(U64x4& x, U64x4& y) {
  if constexpr (step == 2) ExchangeLanes(x, y);
  ExchangePairs(x, y);
}
CW_INLINE void TurnBack(U64x4& x, U64x4& y) { ExchangeLanes(x, y); }
CW_INLINE void TurnToLast(U64x4& x, U64x4& y) { ExchangeLanes(x, y); }
template <int step>
CW_INLINE void TurnFrom(U64x4& x, U64x4& y) {
  ExchangePairs(x, y);
  if constexpr (step == 2) ExchangeLanes(x, y);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SIMD_U64X4_H_
