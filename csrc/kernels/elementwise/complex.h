// Parts, magnitudes and functions of complex numbers. Functions have the special cases of C99's
// Annex G, which the array API standard repeats.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_COMPLEX_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_COMPLEX_H_

#include "kernels/elementwise/arithmetic.h"
#include "kernels/elementwise/c_complex.h"
#include "kernels/elementwise/magnitude.h"

namespace cw {
namespace {

struct ConjOp {
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a) {
    return {a.re, -a.im};
  }
};
struct RealOp {
  template <class T>
  static CW_INLINE T Apply(Complex<T> a) {
    return a.re;
  }
};
struct ImagOp {
  template <class T>
  static CW_INLINE T Apply(Complex<T> a) {
    return a.im;
  }
};
struct MagnitudeOp {
  template <class T>
  static CW_INLINE T Apply(Complex<T> a) {
    return Hypot(a.re, a.im);
  }
};

// a / |a|, and 0 for 0. If exactly one part is infinite, the direction of that part.
struct DirectionOp {
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a) {
    if (a.re == 0 && a.im == 0) return {0, 0};
    if (a.re != a.re || a.im != a.im) return {(T)__builtin_nan(""), (T)__builtin_nan("")};
    const bool wide = __builtin_isinf(a.re), high = __builtin_isinf(a.im);
    if (wide != high) {
      const T re = wide ? (T)__builtin_copysign(1.0, a.re) : (T)0;
      return {re, high ? (T)__builtin_copysign(1.0, a.im) : (T)0};
    }
    // Halves, whose magnitude does not overflow. Small numbers are scaled up, so that they lose no
    // bits.
    const T scale = __builtin_fabs(a.re) + __builtin_fabs(a.im) < 1 ? (T)0x1p100 : (T)0.5;
    const T re = a.re * scale, im = a.im * scale;
    const T magnitude = Hypot(re, im);
    return {re / magnitude, im / magnitude};
  }
};

CW_UNARY(Conj, AsIs)
CW_UNARY(Real, AsIs)
CW_UNARY(Imag, AsIs)
CW_UNARY(Magnitude, AsIs)
CW_UNARY(Direction, AsIs)

// exp(x) cos(y) - 1 loses all bits near 0; (exp(x) - 1) cos(y) - 2 sin(y / 2)^2 is the same.
CW_INLINE Complex128 ComplexExpm1(Complex128 a) {
  const bool finite = __builtin_isfinite(a.re) && __builtin_isfinite(a.im);
  const Complex128 whole = CLibrary::exp(a);
  if (!finite || a.re > 1) return {whole.re - 1, whole.im};
  const double half = __builtin_sin(a.im / 2);
  // Adding 0 turns -0 into 0, as the array API requires.
  const double re = __builtin_expm1(a.re) * __builtin_cos(a.im) - 2 * half * half + 0.0;
  return {re, whole.im};
}

// |1 + a|^2 - 1 = re (2 + re) + im^2 keeps the bits that 1 + a drops.
CW_INLINE Complex128 ComplexLog1p(Complex128 a) {
  const bool near = __builtin_fabs(a.re) < 0.5 && __builtin_fabs(a.im) < 0.5;
  if (!near) return CLibrary::log(Complex128{1 + a.re, a.im});
  const double beyond = a.re * (2 + a.re) + a.im * a.im;
  return {__builtin_log1p(beyond) / 2, __builtin_atan2(a.im, 1 + a.re)};
}

CW_INLINE Complex128 ComplexLogTo(Complex128 a, double one_over_log_base) {
  const Complex128 natural = CLibrary::log(a);
  return {natural.re * one_over_log_base, natural.im * one_over_log_base};
}

// Small integral exponents by products; exp(b log a) else, with 0^0 = 1 and 0 to positive powers 0.
CW_INLINE Complex128 ComplexPow(Complex128 a, Complex128 b) {
  if (b.im == 0 && __builtin_fabs(b.re) <= 64 && b.re == __builtin_trunc(b.re)) {
    Complex128 power = {1, 0};
    for (int left = (int)__builtin_fabs(b.re); left != 0; left >>= 1) {
      if (left & 1) power = MultiplyOp::Apply(power, a);
      if (left > 1) a = MultiplyOp::Apply(a, a);
    }
    return b.re < 0 ? ReciprocalOp::Apply(power) : power;
  }
  if (a.re == 0 && a.im == 0 && b.re > 0) return {0, 0};
  return CLibrary::pow(a, b);
}

CW_INLINE Complex128 Widen(Complex64 a) { return {a.re, a.im}; }
CW_INLINE Complex64 Narrow(Complex128 a) { return {(float)a.re, (float)a.im}; }

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_COMPLEX_H_
