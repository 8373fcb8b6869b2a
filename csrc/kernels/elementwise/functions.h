// Functions of the C library, of real and of complex numbers: portable rows only. Functions that
// series.h computes faster for floats are named Library... here.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_FUNCTIONS_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_FUNCTIONS_H_

#include "kernels/elementwise/complex.h"
#include "kernels/elementwise/loops.h"

// name is the library's; namef is the binary32 function.
#define CW_REAL_CALL(name)                                                \
  static CW_INLINE float Apply(float a) { return __builtin_##name##f(a); } \
  static CW_INLINE double Apply(double a) { return __builtin_##name(a); }
#define CW_COMPLEX_CALL(name)                                                  \
  static CW_INLINE Complex64 Apply(Complex64 a) { return CLibrary::name(a); }  \
  static CW_INLINE Complex128 Apply(Complex128 a) { return CLibrary::name(a); }
#define CW_FUNCTION(Name, name) \
  struct Name##Op {             \
    CW_REAL_CALL(name)          \
    CW_COMPLEX_CALL(name)       \
  };                            \
  CW_UNARY(Name, AsIs)
// Complex functions of our own, in binary64.
#define CW_OWN_FUNCTION(Name, name, expression)                        \
  struct Name##Op {                                                    \
    CW_REAL_CALL(name)                                                 \
    static CW_INLINE Complex128 Apply(Complex128 a) { return expression; } \
    static CW_INLINE Complex64 Apply(Complex64 a) { return Narrow(Apply(Widen(a))); } \
  };                                                                   \
  CW_UNARY(Name, AsIs)

namespace cw {
namespace {

CW_FUNCTION(LibraryExp, exp)
CW_FUNCTION(LibraryLog, log)
CW_FUNCTION(LibrarySin, sin)
CW_FUNCTION(LibraryCos, cos)
CW_FUNCTION(LibraryTan, tan)
CW_FUNCTION(Asin, asin)
CW_FUNCTION(Acos, acos)
CW_FUNCTION(Atan, atan)
CW_FUNCTION(LibrarySinh, sinh)
CW_FUNCTION(LibraryCosh, cosh)
CW_FUNCTION(Asinh, asinh)
CW_FUNCTION(Acosh, acosh)
CW_FUNCTION(Atanh, atanh)
CW_FUNCTION(ComplexSqrt, sqrt)
CW_OWN_FUNCTION(LibraryExpm1, expm1, ComplexExpm1(a))
CW_OWN_FUNCTION(LibraryLog1p, log1p, ComplexLog1p(a))
CW_OWN_FUNCTION(LibraryLog2, log2, ComplexLogTo(a, 1.4426950408889634))
CW_OWN_FUNCTION(LibraryLog10, log10, ComplexLogTo(a, 0.43429448190325182))

// If the real part is infinite, the imaginary part is 0. C gives it the sign of sin(2 im), the
// array API that of im.
struct LibraryTanhOp {
  CW_REAL_CALL(tanh)
  static CW_INLINE Complex64 Apply(Complex64 a) { return Own(a, CLibrary::tanh(a)); }
  static CW_INLINE Complex128 Apply(Complex128 a) { return Own(a, CLibrary::tanh(a)); }
  template <class C>
  static CW_INLINE C Own(C a, C tanh) {
    if (__builtin_isinf(a.re) && __builtin_isfinite(a.im)) tanh.im = a.im * 0;
    return tanh;
  }
};
CW_UNARY(LibraryTanh, AsIs)

struct Atan2Op {
  static CW_INLINE float Apply(float a, float b) { return __builtin_atan2f(a, b); }
  static CW_INLINE double Apply(double a, double b) { return __builtin_atan2(a, b); }
};
struct HypotOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return Hypot(a, b);
  }
};
struct NextAfterOp {
  static CW_INLINE float Apply(float a, float b) { return __builtin_nextafterf(a, b); }
  static CW_INLINE double Apply(double a, double b) { return __builtin_nextafter(a, b); }
};

// log(exp(a) + exp(b)) = max + log(1 + exp(min - max)). The difference of equal infinities is NaN.
struct LogAddExpOp {
  static CW_INLINE double Apply(double a, double b) {
    if (a == b) return a + 0.69314718055994531;
    const double larger = a > b ? a : b;
    const double distance = __builtin_fabs(a - b);
    return distance == distance ? larger + __builtin_log1p(__builtin_exp(-distance)) : a + b;
  }
  static CW_INLINE float Apply(float a, float b) { return (float)Apply((double)a, (double)b); }
};

struct PowOp {
  // Products wrap. 1 / a^-b, rounded towards 0, for negative exponents; 0 where a is 0.
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    using Unsigned = Wide<T>;
    if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (b & 1 ? a : (T)1) : (T)0;
    Unsigned power = 1, base = (Unsigned)a;
    for (auto left = (AsWord<T>)b; left != 0; left >>= 1) {
      if (left & 1) power *= base;
      base *= base;
    }
    return (T)power;
  }
  static CW_INLINE float Apply(float a, float b) { return __builtin_powf(a, b); }
  static CW_INLINE double Apply(double a, double b) { return __builtin_pow(a, b); }
  static CW_INLINE Complex128 Apply(Complex128 a, Complex128 b) { return ComplexPow(a, b); }
  static CW_INLINE Complex64 Apply(Complex64 a, Complex64 b) {
    return Narrow(ComplexPow(Widen(a), Widen(b)));
  }
};

CW_BINARY(Atan2, AsIs)
CW_BINARY(Hypot, AsIs)
CW_BINARY(NextAfter, AsIs)
CW_BINARY(LogAddExp, AsIs)
CW_BINARY(Pow, AsIs)

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_FUNCTIONS_H_
