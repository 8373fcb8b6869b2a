// The combination of two values by each reduction, and its traits of types.
#ifndef CLOAKWORK_KERNELS_REDUCTION_OPS_H_
#define CLOAKWORK_KERNELS_REDUCTION_OPS_H_

#include "kernels/truth.h"

namespace cw {
namespace {

template <bool condition, class A, class B>
struct Choose : TypeIs<A> {};
template <class A, class B>
struct Choose<false, A, B> : TypeIs<B> {};

template <class T>
struct ComponentOf : TypeIs<T> {
  static constexpr u64 kCount = 1;
};
template <class T>
struct ComponentOf<Complex<T>> : TypeIs<T> {
  static constexpr u64 kCount = 2;
};

template <class T>
constexpr bool kIsInteger = true;
template <>
constexpr bool kIsInteger<float> = false;
template <>
constexpr bool kIsInteger<double> = false;
template <class T>
constexpr bool kIsInteger<Complex<T>> = false;
template <class T>
constexpr bool kIsBool = false;
template <>
constexpr bool kIsBool<Bool> = true;
template <class T>
constexpr bool kIsComplex = ComponentOf<T>::kCount == 2;

// i64 sums use u64 arithmetic; narrower integers must be sign-extended.
template <class T>
using SumWord = typename Choose<sizeof(T) == 8, typename Unsigned<T>::Type, T>::Type;

// The words in which integers are summed: two's complement, wrapping.
template <class T>
CW_INLINE u64 Widen(T x) {
  return (u64)(i64)x;
}
CW_INLINE u64 Widen(u64 x) { return x; }
CW_INLINE u64 Widen(Bool x) { return x.bit != 0; }

// Each of these joins words, floating-point numbers, vectors of them and complex numbers.
struct AddOp {
  static constexpr bool kPicks = false;
  template <class T>
  static constexpr T kIdentity = T(0);
  template <class T>
  static CW_INLINE T Join(T a, T b) {
    return a + b;
  }
  template <class T>
  static CW_INLINE Complex<T> Join(Complex<T> a, Complex<T> b) {
    return {a.re + b.re, a.im + b.im};
  }
};

struct MultiplyOp {
  static constexpr bool kPicks = false;
  template <class T>
  static constexpr T kIdentity = T(1);
  template <class T>
  static CW_INLINE T Join(T a, T b) {
    return a * b;
  }
  template <class T>
  static CW_INLINE Complex<T> Join(Complex<T> a, Complex<T> b) {
    // GCC would contract a difference beside a sum of the same products.
    return {a.re * b.re + (-a.im) * b.im, a.re * b.im + a.im * b.re};
  }
};

template <class T>
struct Limits {
  static constexpr bool kIsSigned = T(-1) < T(0);
  static constexpr int kBits = 8 * (int)sizeof(T) - (kIsSigned ? 1 : 0);
  static constexpr T kGreatest = (T)(~(u64)0 >> (64 - kBits));
  static constexpr T kLeast = kIsSigned ? (T)(-kGreatest - 1) : (T)0;
};
template <>
struct Limits<float> {
  static constexpr float kGreatest = __builtin_inff(), kLeast = -__builtin_inff();
};
template <>
struct Limits<double> {
  static constexpr double kGreatest = __builtin_inf(), kLeast = -__builtin_inf();
};

// NaN wins over all numbers; the first of equal values is kept.
struct LeastOp {
  static constexpr bool kPicks = true;
  template <class T>
  static constexpr T kIdentity = Limits<T>::kGreatest;
  template <class T>
  static CW_INLINE T Join(T a, T b) {
    const T best = Pick(a, b);
    return b != b ? b : best;
  }
  // b is no NaN, or is dropped.
  template <class T>
  static CW_INLINE T Pick(T a, T b) {
    return b < a ? b : a;
  }
  template <class T>
  static CW_INLINE bool IsBetter(T x, T best) {
    return (x < best) | ((x != x) & (best == best));
  }
};

struct GreatestOp {
  static constexpr bool kPicks = true;
  template <class T>
  static constexpr T kIdentity = Limits<T>::kLeast;
  template <class T>
  static CW_INLINE T Join(T a, T b) {
    const T best = Pick(a, b);
    return b != b ? b : best;
  }
  // b is no NaN, or is dropped.
  template <class T>
  static CW_INLINE T Pick(T a, T b) {
    return b > a ? b : a;
  }
  template <class T>
  static CW_INLINE bool IsBetter(T x, T best) {
    return (x > best) | ((x != x) & (best == best));
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_OPS_H_
