// Four binary64 numbers in the lanes of a U64x4: AVX2 with FMA. f64x8.h has the same for eight.
#ifndef CLOAKWORK_KERNELS_SIMD_F64X4_H_
#define CLOAKWORK_KERNELS_SIMD_F64X4_H_

#include "kernels/simd/u64x4.h"

namespace cw {
namespace {

CW_INLINE __m256d AsDouble(U64x4 x) { return _mm256_castsi256_pd(x.v); }
CW_INLINE U64x4 AsWord(__m256d x) { return {_mm256_castpd_si256(x)}; }

CW_INLINE U64x4 AddDouble(U64x4 a, U64x4 b) {
  return AsWord(_mm256_add_pd(AsDouble(a), AsDouble(b)));
}
CW_INLINE U64x4 SubDouble(U64x4 a, U64x4 b) {
  return AsWord(_mm256_sub_pd(AsDouble(a), AsDouble(b)));
}
CW_INLINE U64x4 MulDouble(U64x4 a, U64x4 b) {
  return AsWord(_mm256_mul_pd(AsDouble(a), AsDouble(b)));
}
// a b + c, a b - c, c - a b, each rounded once.
CW_INLINE U64x4 MulAddDouble(U64x4 a, U64x4 b, U64x4 c) {
  return AsWord(_mm256_fmadd_pd(AsDouble(a), AsDouble(b), AsDouble(c)));
}
CW_INLINE U64x4 MulSubDouble(U64x4 a, U64x4 b, U64x4 c) {
  return AsWord(_mm256_fmsub_pd(AsDouble(a), AsDouble(b), AsDouble(c)));
}
CW_INLINE U64x4 SubMulDouble(U64x4 c, U64x4 a, U64x4 b) {
  return AsWord(_mm256_fnmadd_pd(AsDouble(a), AsDouble(b), AsDouble(c)));
}

// x + m where x < 0, else x.
CW_INLINE U64x4 AddDoubleIfNegative(U64x4 x, U64x4 m) {
  const __m256d negative = _mm256_cmp_pd(AsDouble(x), _mm256_setzero_pd(), _CMP_LT_OQ);
  return AsWord(_mm256_add_pd(AsDouble(x), _mm256_and_pd(negative, AsDouble(m))));
}

// Words below 2^52 as numbers, and back: those are the low bits of 2^52 + x.
CW_INLINE U64x4 DoubleOfWord(U64x4 x) {
  const U64x4 unit = U64x4::Set(0x4330000000000000);
  return SubDouble(Or(x, unit), unit);
}
CW_INLINE U64x4 WordOfDouble(U64x4 x) {
  const U64x4 unit = U64x4::Set(0x4330000000000000);
  return Xor(AddDouble(x, unit), unit);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SIMD_F64X4_H_
