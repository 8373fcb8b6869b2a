// Floored quotients and remainders. Integers divided by 0 give 0 for both.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_DIVISION_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_DIVISION_H_

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/types.h"

namespace cw {
namespace {

// The quotient of integers, rounded towards 0, by a division of floats, of which a vector holds
// many. With |a|, |b| <= 2^32 a quotient that is not an integer is at least 1 / |b| away from one,
// and binary64 is off by at most |a / b| 2^-53 < 1 / |b|: rounding does not reach the integer. The
// same holds for 16 bits in binary32. b != 0.
template <class T>
CW_INLINE T Quotient(T a, T b) {
  if constexpr (sizeof(T) <= 2) {
    return (T)(int32_t)((float)a / (float)b);
  } else if constexpr (kKind<T> == Kind::kSigned) {
    const double quotient = (double)a / (double)b;
    return quotient < 0x1p31 ? (T)quotient : (T)INT32_MIN;
  } else {
    // Conversions of signed numbers are fast everywhere.
    constexpr double kHalf = 0x1p31;
    const double x = (double)(int32_t)(a ^ 0x80000000u) + kHalf;
    const double y = (double)(int32_t)(b ^ 0x80000000u) + kHalf;
    const double quotient = x / y;
    return quotient < kHalf ? (u32)(int32_t)quotient
                            : (u32)(int32_t)(quotient - kHalf) + 0x80000000u;
  }
}
CW_INLINE u64 Quotient(u64 a, u64 b) { return a / b; }
CW_INLINE i64 Quotient(i64 a, i64 b) { return b == -1 ? (i64)(0 - (u64)a) : a / b; }

template <class T>
struct Division {
  T quotient, rest;
};

// Rounds down: rest has the sign of b.
template <class T>
CW_INLINE Division<T> DivideDown(T a, T b) {
  const T divisor = b == 0 ? (T)1 : b;
  const T quotient = Quotient(a, divisor);
  const T rest = (T)((Wide<T>)a - (Wide<T>)quotient * (Wide<T>)divisor);
  const bool above = rest != 0 && (T)(rest ^ divisor) < 0;
  const T down = (T)((Wide<T>)quotient - above);
  const T left = above ? (T)((Wide<T>)rest + (Wide<T>)divisor) : rest;
  return b == 0 ? Division<T>{0, 0} : Division<T>{down, left};
}

CW_INLINE float Fmod(float a, float b) { return __builtin_fmodf(a, b); }
CW_INLINE double Fmod(double a, double b) { return __builtin_fmod(a, b); }
CW_INLINE float CopySign(float a, float b) { return __builtin_copysignf(a, b); }
CW_INLINE double CopySign(double a, double b) { return __builtin_copysign(a, b); }

// Takes the sign of b, also if it is 0.
template <class T>
CW_INLINE T FloatRemainder(T a, T b) {
  const T rest = Fmod(a, b);
  if (rest == 0) return CopySign((T)0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

// floor(a / b), of the exact quotient where both are finite: a / b itself may round up to an
// integer.
CW_INLINE double FloatFloorDivide(double a, double b) {
  const double ratio = a / b;
  const bool finite = __builtin_isfinite(a) && __builtin_isfinite(b) && b != 0;
  if (!finite) return __builtin_floor(ratio);
  const double rest = Fmod(a, b);
  const bool above = rest != 0 && (b < 0) != (rest < 0);
  const double quotient = __builtin_rint((a - rest) / b) - above;  // an integer, but for rounding
  return quotient == 0 ? __builtin_copysign(0.0, ratio) : quotient;
}
// In binary64, which holds the bits of every integer that binary32 does not round.
CW_INLINE float FloatFloorDivide(float a, float b) {
  return (float)FloatFloorDivide((double)a, (double)b);
}

struct FloorDivideOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    if constexpr (kInteger<T>) return DivideDown(a, b).quotient;
    else return FloatFloorDivide(a, b);
  }
};

struct RemainderOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    if constexpr (kInteger<T>) return DivideDown(a, b).rest;
    else return FloatRemainder(a, b);
  }
};

CW_BINARY(FloorDivide, AsIs)
CW_BINARY(Remainder, AsIs)

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_DIVISION_H_
