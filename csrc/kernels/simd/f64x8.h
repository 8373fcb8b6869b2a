// Eight binary64 numbers in the lanes of a U64x8: AVX-512 F, DQ.
#ifndef CLOAKWORK_KERNELS_SIMD_F64X8_H_
#define CLOAKWORK_KERNELS_SIMD_F64X8_H_

#include "kernels/simd/u64x8.h"

namespace cw {
namespace {

CW_INLINE __m512d AsDouble(U64x8 x) { return _mm512_castsi512_pd(x.v); }
CW_INLINE U64x8 AsWord(__m512d x) { return {_mm512_castpd_si512(x)}; }

CW_INLINE U64x8 AddDouble(U64x8 a, U64x8 b) {
  return AsWord(_mm512_add_pd(AsDouble(a), AsDouble(b)));
}
CW_INLINE U64x8 SubDouble(U64x8 a, U64x8 b) {
  return AsWord(_mm512_sub_pd(AsDouble(a), AsDouble(b)));
}
CW_INLINE U64x8 MulDouble(U64x8 a, U64x8 b) {
  return AsWord(_mm512_mul_pd(AsDouble(a), AsDouble(b)));
}
// a b + c, a b - c, c - a b, each rounded once.
CW_INLINE U64x8 MulAddDouble(U64x8 a, U64x8 b, U64x8 c) {
  return AsWord(_mm512_fmadd_pd(AsDouble(a), AsDouble(b), AsDouble(c)));
}
CW_INLINE U64x8 MulSubDouble(U64x8 a, U64x8 b, U64x8 c) {
  return AsWord(_mm512_fmsub_pd(AsDouble(a), AsDouble(b), AsDouble(c)));
}
CW_INLINE U64x8 SubMulDouble(U64x8 c, U64x8 a, U64x8 b) {
  return AsWord(_mm512_fnmadd_pd(AsDouble(a), AsDouble(b), AsDouble(c)));
}

// x + m where x < 0, else x.
CW_INLINE U64x8 AddDoubleIfNegative(U64x8 x, U64x8 m) {
  const __mmask8 negative = _mm512_cmp_pd_mask(AsDouble(x), _mm512_setzero_pd(), _CMP_LT_OQ);
  return AsWord(_mm512_mask_add_pd(AsDouble(x), negative, AsDouble(x), AsDouble(m)));
}

// Words below 2^53 as numbers, and back.
CW_INLINE U64x8 DoubleOfWord(U64x8 x) { return AsWord(_mm512_cvtepi64_pd(x.v)); }
CW_INLINE U64x8 WordOfDouble(U64x8 x) { return {_mm512_cvttpd_epi64(AsDouble(x))}; }

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SIMD_F64X8_H_
