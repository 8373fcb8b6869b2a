// Sums, products, quotients and extremes. Integers wrap; complex products and quotients follow the
// textbook, without C's recovery of infinities.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_ARITHMETIC_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_ARITHMETIC_H_

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/types.h"

namespace cw {
namespace {

struct AddOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return (T)((Wide<T>)a + (Wide<T>)b);
  }
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a, Complex<T> b) {
    return {a.re + b.re, a.im + b.im};
  }
};

struct SubtractOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return (T)((Wide<T>)a - (Wide<T>)b);
  }
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a, Complex<T> b) {
    return {a.re - b.re, a.im - b.im};
  }
};

struct MultiplyOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return (T)((Wide<T>)a * (Wide<T>)b);
  }
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a, Complex<T> b) {
    // A sum with a negated product: for a difference and a sum of the same products GCC 12 emits
    // vfmaddsub, which rounds once, in spite of -ffp-contract=off.
    return {a.re * b.re + (-a.im) * b.im, a.re * b.im + a.im * b.re};
  }
};

struct DivideOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return a / b;
  }
  // Smith's method: the parts of b as a ratio of at most 1, so that no square overflows. In
  // binary64 also for binary32, whose quotients are then rounded once.
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a, Complex<T> b) {
    const double a_re = a.re, a_im = a.im, b_re = b.re, b_im = b.im;
    const bool swap = __builtin_fabs(b_re) < __builtin_fabs(b_im);
    const double large = swap ? b_im : b_re;
    const double small = swap ? b_re : b_im;
    const double ratio = large == 0 ? 0 : small / large;
    const double opposite = large == 0 ? 0 : small / -large;  // sums alone: see MultiplyOp
    const double scale = large + small * ratio;
    const double re = swap ? a_re * ratio + a_im : a_re + a_im * ratio;
    const double im = swap ? -(a_im * opposite + a_re) : a_im + a_re * opposite;
    return {(T)(re / scale), (T)(im / scale)};
  }
};

struct NegativeOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    if constexpr (kInteger<T>) return (T)(0u - (Wide<T>)a);
    else return -a;
  }
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a) {
    return {-a.re, -a.im};
  }
};

struct PositiveOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return a;
  }
};

struct SquareOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return MultiplyOp::Apply(a, a);
  }
};

struct ReciprocalOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return 1 / a;
  }
  template <class T>
  static CW_INLINE Complex<T> Apply(Complex<T> a) {
    return DivideOp::Apply(Complex<T>{1, 0}, a);
  }
};

// The least integer has no counterpart and stays; for a float only the sign bit changes.
struct AbsOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return a < 0 ? (T)(0u - (Wide<T>)a) : a;
  }
  static CW_INLINE float Apply(float a) { return __builtin_fabsf(a); }
  static CW_INLINE double Apply(double a) { return __builtin_fabs(a); }
};

struct SqrtOp {
  static CW_INLINE float Apply(float a) { return __builtin_sqrtf(a); }
  static CW_INLINE double Apply(double a) { return __builtin_sqrt(a); }
};

// -1, 0 or 1; NaN stays NaN.
struct SignOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    if constexpr (kInteger<T>) return (T)((a > 0) - (a < 0));
    else return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a;
  }
};

// The first of equal elements; NaN wins.
struct MaximumOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    if constexpr (kInteger<T>) return a > b ? a : b;
    else return (a >= b) | (a != a) ? a : b;
  }
};
struct MinimumOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    if constexpr (kInteger<T>) return a < b ? a : b;
    else return (a <= b) | (a != a) ? a : b;
  }
};

template <>
constexpr bool kCommutes<AddOp> = true;
template <>
constexpr bool kCommutes<MultiplyOp> = true;

CW_BINARY(Add, AsWord)
CW_BINARY(Subtract, AsWord)
CW_BINARY(Multiply, AsWord)
CW_BINARY(Divide, AsIs)
CW_UNARY(Negative, AsWord)
CW_UNARY(Positive, AsWord)
CW_UNARY(Square, AsWord)
CW_UNARY(Reciprocal, AsIs)
CW_UNARY(Abs, AsIs)
CW_UNARY(Sqrt, AsIs)
CW_UNARY(Sign, AsIs)
CW_BINARY(Maximum, AsIs)
CW_BINARY(Minimum, AsIs)

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_ARITHMETIC_H_
