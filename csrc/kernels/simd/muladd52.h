// 52-bit multiply-add: algorithms test whether a vector has it before they use it.
#ifndef CLOAKWORK_KERNELS_SIMD_MULADD52_H_
#define CLOAKWORK_KERNELS_SIMD_MULADD52_H_

#include "kernels/common.h"
#include "kernels/simd/u64x1.h"
#if defined(__AVX512IFMA__)
#include "kernels/simd/u64x8.h"
#endif

namespace cw {
namespace {

constexpr u64 kMask52 = ((u64)1 << 52) - 1;

// Whether the vector has it as an instruction.
template <class V>
constexpr bool kHasMulAdd52 = false;

// a + the low half, or the high half, of the 104-bit product of the low 52 bits of x and y.
CW_INLINE U64x1 MulAdd52Low(U64x1 a, U64x1 x, U64x1 y) {
  return {a.v + ((x.v & kMask52) * (y.v & kMask52) & kMask52)};
}
CW_INLINE U64x1 MulAdd52High(U64x1 a, U64x1 x, U64x1 y) {
  return {a.v + (u64)((u128)(x.v & kMask52) * (y.v & kMask52) >> 52)};
}

#if defined(__AVX512IFMA__)
template <>
constexpr bool kHasMulAdd52<U64x8> = true;

CW_INLINE U64x8 MulAdd52Low(U64x8 a, U64x8 x, U64x8 y) {
  return {_mm512_madd52lo_epu64(a.v, x.v, y.v)};
}
CW_INLINE U64x8 MulAdd52High(U64x8 a, U64x8 x, U64x8 y) {
  return {_mm512_madd52hi_epu64(a.v, x.v, y.v)};
}
#endif

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SIMD_MULADD52_H_
