// In place of csrc/kernels/elementwise/c_complex.h for a GPU, which has no complex functions: those
// of C's library by real ones, after Kahan's "Branch Cuts for Complex Elementary Functions" (1987).
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_C_COMPLEX_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_C_COMPLEX_H_

#include <math.h>

#include "kernels/common.h"

namespace cw {
namespace {

namespace complex {

inline bool IsFinite(double a) { return __builtin_isfinite(a); }
inline bool IsNan(double a) { return a != a; }

inline Complex128 Exp(Complex128 a) {
  if (a.im == 0) return {::exp(a.re), a.im};
  if (__builtin_isinf(a.re) && !IsFinite(a.im)) {
    if (a.re < 0) return {0, 0};
    return {a.re, a.im - a.im};
  }
  const double scale = ::exp(a.re);
  return {scale * ::cos(a.im), scale * ::sin(a.im)};
}

// Near 1 the logarithm of the magnitude is that of 1 + (|a|^2 - 1).
inline Complex128 Log(Complex128 a) {
  const double size = ::hypot(a.re, a.im);
  const double x = ::fabs(a.re), y = ::fabs(a.im);
  const double large = x > y ? x : y, small = x > y ? y : x;
  const double re = size > 0.5 && size < 2
                        ? ::log1p((large - 1) * (large + 1) + small * small) / 2
                        : ::log(size);
  return {re, ::atan2(a.im, a.re)};
}

inline Complex128 Sqrt(Complex128 a) {
  if (a.re == 0 && a.im == 0) return {0, a.im};
  if (__builtin_isinf(a.im)) return {__builtin_inf(), a.im};
  if (__builtin_isinf(a.re)) {
    const double other = IsNan(a.im) ? a.im : 0;
    if (a.re > 0) return {a.re, IsNan(a.im) ? a.im : ::copysign(0.0, a.im)};
    return {other, ::copysign(__builtin_inf(), a.im)};
  }
  // Scaled so that the magnitude neither overflows nor loses bits.
  const double x = ::fabs(a.re), y = ::fabs(a.im);
  const bool large = x > 0x1p1020 || y > 0x1p1020, small = x < 0x1p-900 && y < 0x1p-900;
  const double scale = large ? 0x1p-4 : small ? 0x1p200 : 1;
  const double back = large ? 0x1p2 : small ? 0x1p-100 : 1;
  const double root = ::sqrt((x * scale + ::hypot(x * scale, y * scale)) / 2) * back;
  const double other = a.im / (2 * root);
  if (a.re >= 0) return {root, other};
  return {::fabs(other), ::copysign(root, a.im)};
}

inline Complex128 Sinh(Complex128 a) {
  if (a.im == 0) return {::sinh(a.re), a.im};
  if (a.re == 0) return {::copysign(0.0, a.re * ::cos(a.im)), ::sin(a.im)};
  return {::sinh(a.re) * ::cos(a.im), ::cosh(a.re) * ::sin(a.im)};
}

inline Complex128 Cosh(Complex128 a) {
  if (a.im == 0) return {::cosh(a.re), a.re * a.im};
  if (a.re == 0) return {::cos(a.im), a.re * ::sin(a.im)};
  return {::cosh(a.re) * ::cos(a.im), ::sinh(a.re) * ::sin(a.im)};
}

inline Complex128 Tanh(Complex128 a) {
  if (::fabs(a.re) > 22) {
    const double im = IsFinite(a.im) ? 4 * ::sin(a.im) * ::cos(a.im) * ::exp(-2 * ::fabs(a.re)) : 0;
    return {::copysign(1.0, a.re), im};
  }
  const double t = ::tan(a.im), beta = 1 + t * t;
  const double s = ::sinh(a.re), rho = ::sqrt(1 + s * s);
  if (__builtin_isinf(t)) return {rho / s, 1 / t};
  const double divisor = 1 + beta * s * s;
  return {beta * rho * s / divisor, t / divisor};
}

inline Complex128 Asin(Complex128 a) {
  const Complex128 below = Sqrt({1 - a.re, -a.im}), above = Sqrt({1 + a.re, a.im});
  return {::atan2(a.re, below.re * above.re - below.im * above.im),
          ::asinh(below.re * above.im - below.im * above.re)};
}

inline Complex128 Acos(Complex128 a) {
  const Complex128 below = Sqrt({1 - a.re, -a.im}), above = Sqrt({1 + a.re, a.im});
  return {2 * ::atan2(below.re, above.re), ::asinh(above.re * below.im - above.im * below.re)};
}

inline Complex128 Acosh(Complex128 a) {
  const Complex128 below = Sqrt({a.re - 1, a.im}), above = Sqrt({a.re + 1, a.im});
  return {::asinh(below.re * above.re + below.im * above.im), 2 * ::atan2(below.im, above.re)};
}

inline Complex128 Atanh(Complex128 a) {
  const double other = 1 - a.re, square = a.im * a.im;
  return {::log1p(4 * a.re / (other * other + square)) / 4,
          ::atan2(2 * a.im, other * (1 + a.re) - square) / 2};
}

// f(a) by its hyperbolic form: -i f(i a).
template <Complex128 (*hyperbolic)(Complex128)>
inline Complex128 Turned(Complex128 a) {
  const Complex128 turned = hyperbolic({-a.im, a.re});
  return {turned.im, -turned.re};
}

inline Complex128 Asinh(Complex128 a) {
  const Complex128 turned = Asin({-a.im, a.re});
  return {turned.im, -turned.re};
}

inline Complex128 Cos(Complex128 a) { return Cosh({-a.im, a.re}); }

}  // namespace complex

#define CW_C_FUNCTION(name, Function)                                              \
  static inline Complex128 name(Complex128 a) { return complex::Function(a); }     \
  static inline Complex64 name(Complex64 a) {                                      \
    const Complex128 wide = complex::Function(Complex128{a.re, a.im});             \
    return {(float)wide.re, (float)wide.im};                                       \
  }
struct CLibrary {
  CW_C_FUNCTION(exp, Exp)
  CW_C_FUNCTION(log, Log)
  CW_C_FUNCTION(sin, Turned<complex::Sinh>)
  CW_C_FUNCTION(cos, Cos)
  CW_C_FUNCTION(tan, Turned<complex::Tanh>)
  CW_C_FUNCTION(asin, Asin)
  CW_C_FUNCTION(acos, Acos)
  CW_C_FUNCTION(atan, Turned<complex::Atanh>)
  CW_C_FUNCTION(sinh, Sinh)
  CW_C_FUNCTION(cosh, Cosh)
  CW_C_FUNCTION(tanh, Tanh)
  CW_C_FUNCTION(asinh, Asinh)
  CW_C_FUNCTION(acosh, Acosh)
  CW_C_FUNCTION(atanh, Atanh)
  CW_C_FUNCTION(sqrt, Sqrt)
  static inline Complex128 pow(Complex128 a, Complex128 b) {
    const Complex128 log = complex::Log(a);
    return complex::Exp({b.re * log.re - b.im * log.im, b.re * log.im + b.im * log.re});
  }
};
#undef CW_C_FUNCTION

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_C_COMPLEX_H_
