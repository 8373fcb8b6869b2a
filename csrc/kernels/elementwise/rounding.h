// Rounding to integers, classification and signs of floats.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_ROUNDING_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_ROUNDING_H_

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/types.h"

namespace cw {
namespace {

struct CeilOp {
  static CW_INLINE float Apply(float a) { return __builtin_ceilf(a); }
  static CW_INLINE double Apply(double a) { return __builtin_ceil(a); }
};
struct FloorOp {
  static CW_INLINE float Apply(float a) { return __builtin_floorf(a); }
  static CW_INLINE double Apply(double a) { return __builtin_floor(a); }
};
struct TruncOp {
  static CW_INLINE float Apply(float a) { return __builtin_truncf(a); }
  static CW_INLINE double Apply(double a) { return __builtin_trunc(a); }
};
// Rounds halves to the even integer, as in the processor's default rounding mode.
struct RoundOp {
  static CW_INLINE float Apply(float a) { return __builtin_rintf(a); }
  static CW_INLINE double Apply(double a) { return __builtin_rint(a); }
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a) {
    return {Apply(a.re), Apply(a.im)};
  }
};

CW_INLINE bool IsInfinite(float a) { return __builtin_fabsf(a) == __builtin_inff(); }
CW_INLINE bool IsInfinite(double a) { return __builtin_fabs(a) == __builtin_inf(); }
CW_INLINE bool IsFiniteNumber(float a) { return __builtin_fabsf(a) < __builtin_inff(); }
CW_INLINE bool IsFiniteNumber(double a) { return __builtin_fabs(a) < __builtin_inf(); }

// For a complex number: whether both parts are finite, one is infinite, or one is NaN.
struct IsFiniteOp {
  template <class T>
  static CW_INLINE Bool Apply(T a) {
    return Truth(IsFiniteNumber(a));
  }
  template <class T>
  static CW_INLINE Bool Apply(Complex<T> a) {
    return Truth(IsFiniteNumber(a.re) & IsFiniteNumber(a.im));
  }
};
struct IsInfOp {
  template <class T>
  static CW_INLINE Bool Apply(T a) {
    return Truth(IsInfinite(a));
  }
  template <class T>
  static CW_INLINE Bool Apply(Complex<T> a) {
    return Truth(IsInfinite(a.re) | IsInfinite(a.im));
  }
};
struct IsNanOp {
  template <class T>
  static CW_INLINE Bool Apply(T a) {
    return Truth(a != a);
  }
  template <class T>
  static CW_INLINE Bool Apply(Complex<T> a) {
    return Truth((a.re != a.re) | (a.im != a.im));
  }
};
struct SignBitOp {
  static CW_INLINE Bool Apply(float a) {
    u32 bits;
    memcpy(&bits, &a, sizeof bits);
    return {(uint8_t)(bits >> 31)};
  }
  static CW_INLINE Bool Apply(double a) {
    u64 bits;
    memcpy(&bits, &a, sizeof bits);
    return {(uint8_t)(bits >> 63)};
  }
};

struct CopySignOp {
  static CW_INLINE float Apply(float a, float b) { return __builtin_copysignf(a, b); }
  static CW_INLINE double Apply(double a, double b) { return __builtin_copysign(a, b); }
};

CW_UNARY(Ceil, AsIs)
CW_UNARY(Floor, AsIs)
CW_UNARY(Trunc, AsIs)
CW_UNARY(Round, AsIs)
CW_UNARY(IsFinite, AsIs)
CW_UNARY(IsInf, AsIs)
CW_UNARY(IsNan, AsIs)
CW_UNARY(SignBit, AsIs)
CW_BINARY(CopySign, AsIs)

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_ROUNDING_H_
