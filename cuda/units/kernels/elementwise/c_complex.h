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
// -a, of NaN as well, whose sign decides on that of an infinite part: a GPU's negation drops it.
inline double Minus(double a) {
  i64 bits;
  memcpy(&bits, &a, sizeof bits);
  return ::copysign(a, bits < 0 ? 1.0 : -1.0);
}

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

// Special values, here and below, are those of C99's Annex G.
inline Complex128 Sinh(Complex128 a) {
  if (a.im == 0) return {::sinh(a.re), a.im};
  if (__builtin_isinf(a.re) && !IsFinite(a.im)) return {::fabs(a.re), a.im - a.im};
  if (a.re == 0) return {a.re, ::sin(a.im)};
  return {::sinh(a.re) * ::cos(a.im), ::cosh(a.re) * ::sin(a.im)};
}

inline Complex128 Cosh(Complex128 a) {
  if (a.im == 0) return {::cosh(a.re), ::copysign(0.0, a.re) * a.im};
  if (__builtin_isinf(a.re) && !IsFinite(a.im)) return {::fabs(a.re), a.im - a.im};
  if (a.re == 0) return {::cos(a.im), IsFinite(a.im) ? a.re * ::sin(a.im) : 0};
  return {::cosh(a.re) * ::cos(a.im), ::sinh(a.re) * ::sin(a.im)};
}

inline Complex128 Tanh(Complex128 a) {
  if (a.im == 0) return {::tanh(a.re), a.im};
  if (!IsFinite(a.im) && IsFinite(a.re)) return {a.re == 0 ? a.re : a.im - a.im, a.im - a.im};
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

constexpr double kPi = 0x1.921fb54442d18p1;

inline Complex128 Asin(Complex128 a) {
  const Complex128 below = Sqrt({1 - a.re, -a.im}), above = Sqrt({1 + a.re, a.im});
  return {::atan2(a.re, below.re * above.re - below.im * above.im),
          ::asinh(below.re * above.im - below.im * above.re)};
}

inline Complex128 Asinh(Complex128 a) {
  if (__builtin_isinf(a.re)) {
    const double turn = __builtin_isinf(a.im) ? kPi / 4 : 0;
    return {a.re, IsNan(a.im) ? a.im : ::copysign(turn, a.im)};
  }
  if (__builtin_isinf(a.im)) {
    return {::copysign(a.im, a.re), IsNan(a.re) ? a.re : ::copysign(kPi / 2, a.im)};
  }
  if (IsNan(a.re) && a.im == 0) return a;
  const Complex128 turned = Asin({-a.im, a.re});
  return {turned.im, -turned.re};
}

inline Complex128 Acosh(Complex128 a) {
  if (__builtin_isinf(a.re) || __builtin_isinf(a.im)) {
    return {__builtin_inf(), IsNan(a.re) ? a.re : ::atan2(a.im, a.re)};
  }
  if (a.re == 0 && IsNan(a.im)) return {a.im, kPi / 2};
  const Complex128 below = Sqrt({a.re - 1, a.im}), above = Sqrt({a.re + 1, a.im});
  return {::asinh(below.re * above.re + below.im * above.im), 2 * ::atan2(below.im, above.re)};
}

inline Complex128 Acos(Complex128 a) {
  if (__builtin_isinf(a.re) || __builtin_isinf(a.im)) {
    const double angle = IsNan(a.re) ? a.re : ::atan2(a.im, a.re);
    return {::fabs(angle), ::copysign(__builtin_inf(), Minus(a.im))};
  }
  if (a.re == 0 && IsNan(a.im)) return {kPi / 2, a.im};
  const Complex128 below = Sqrt({1 - a.re, -a.im}), above = Sqrt({1 + a.re, a.im});
  return {2 * ::atan2(below.re, above.re), ::asinh(above.re * below.im - above.im * below.re)};
}

inline Complex128 Atanh(Complex128 a) {
  if (__builtin_isinf(a.re) || __builtin_isinf(a.im)) {
    return {::copysign(0.0, a.re), IsNan(a.im) ? a.im : ::copysign(kPi / 2, a.im)};
  }
  if (a.re == 0 && IsNan(a.im)) return a;
  const double size = ::fabs(a.re), other = 1 - size, square = a.im * a.im;
  const double re = ::log1p(4 * size / (other * other + square)) / 4;
  return {::copysign(re, a.re), ::atan2(2 * a.im, other * (1 + size) - square) / 2};
}

// An infinite factor's product is infinite, whatever the parts of the other one.
inline Complex128 Multiply(Complex128 a, Complex128 b) {
  const Complex128 product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  if (!IsNan(product.re) || !IsNan(product.im)) return product;
  const auto boxed = [](Complex128 z) -> Complex128 {
    return {::copysign(__builtin_isinf(z.re) ? 1.0 : 0.0, z.re),
            ::copysign(__builtin_isinf(z.im) ? 1.0 : 0.0, z.im)};
  };
  const auto numbers = [](Complex128 z) -> Complex128 {
    return {IsNan(z.re) ? ::copysign(0.0, z.re) : z.re, IsNan(z.im) ? ::copysign(0.0, z.im) : z.im};
  };
  const bool first = __builtin_isinf(a.re) || __builtin_isinf(a.im);
  const bool second = __builtin_isinf(b.re) || __builtin_isinf(b.im);
  if (!first && !second) return product;
  if (first) a = boxed(a), b = numbers(b);
  if (second) b = boxed(b), a = numbers(a);
  const double infinity = __builtin_inf();
  return {infinity * (a.re * b.re - a.im * b.im), infinity * (a.re * b.im + a.im * b.re)};
}

// f(a) by its hyperbolic form: -i f(i a).
template <Complex128 (*hyperbolic)(Complex128)>
inline Complex128 Turned(Complex128 a) {
  const Complex128 turned = hyperbolic({Minus(a.im), a.re});
  return {turned.im, Minus(turned.re)};
}

inline Complex128 Sin(Complex128 a) {
  if (__builtin_isinf(a.im) && !IsFinite(a.re)) return {a.re - a.re, ::fabs(a.im)};
  return Turned<Sinh>(a);
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
  CW_C_FUNCTION(sin, Sin)
  CW_C_FUNCTION(cos, Cos)
  CW_C_FUNCTION(tan, Turned<complex::Tanh>)
  CW_C_FUNCTION(asin, Turned<complex::Asinh>)
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
    return complex::Exp(complex::Multiply(b, complex::Log(a)));
  }
};
#undef CW_C_FUNCTION

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_C_COMPLEX_H_
