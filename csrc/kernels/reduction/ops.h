// What reductions do with two values, and how a type is looked at.
#ifndef CLOAKWORK_KERNELS_REDUCTION_OPS_H_
#define CLOAKWORK_KERNELS_REDUCTION_OPS_H_

#include "kernels/common.h"

namespace cw {
namespace {

template <class T>
struct TypeOf {
  using Type = T;
};
template <bool condition, class A, class B>
struct Choose : TypeOf<A> {};
template <class A, class B>
struct Choose<false, A, B> : TypeOf<B> {};

template <class T>
struct ComponentOf : TypeOf<T> {
  static constexpr u64 kCount = 1;
};
template <class T>
struct ComponentOf<Complex<T>> : TypeOf<T> {
  static constexpr u64 kCount = 2;
};

// The type whose code also serves T where signs do not matter: fewer copies of each algorithm.
template <class T>
struct Unsigned : TypeOf<T> {};
template <>
struct Unsigned<Bool> : TypeOf<uint8_t> {};
template <>
struct Unsigned<int8_t> : TypeOf<uint8_t> {};
template <>
struct Unsigned<int16_t> : TypeOf<uint16_t> {};
template <>
struct Unsigned<int32_t> : TypeOf<uint32_t> {};
template <>
struct Unsigned<int64_t> : TypeOf<uint64_t> {};

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

// i64 sums as u64 does; narrower ones must know their sign.
template <class T>
using SumWord = typename Choose<sizeof(T) == 8, typename Unsigned<T>::Type, T>::Type;

template <class T>
CW_INLINE bool IsTrue(T x) {
  return x != 0;
}
template <class T>
CW_INLINE bool IsTrue(Complex<T> x) {
  return (x.re != 0) | (x.im != 0);
}

// The words that integers are summed in: two's complement, wrapping.
template <class T>
CW_INLINE u64 Widen(T x) {
  return (u64)(i64)x;
}
CW_INLINE u64 Widen(u64 x) { return x; }
CW_INLINE u64 Widen(Bool x) { return x.bit != 0; }

// Each of these joins words, floating-point numbers, vectors of them and complex numbers.
struct AddOp {
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
  template <class T>
  static constexpr T kIdentity = T(1);
  template <class T>
  static CW_INLINE T Join(T a, T b) {
    return a * b;
  }
  template <class T>
  static CW_INLINE Complex<T> Join(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
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

// What is not a number wins over all that is; the first of equal values is kept.
struct LeastOp {
  template <class T>
  static constexpr T kIdentity = Limits<T>::kGreatest;
  template <class T>
  static CW_INLINE T Join(T a, T b) {
    return (b < a) | (b != b) ? b : a;
  }
  template <class T>
  static CW_INLINE bool IsBetter(T x, T best) {
    return (x < best) | ((x != x) & (best == best));
  }
};

struct GreatestOp {
  template <class T>
  static constexpr T kIdentity = Limits<T>::kLeast;
  template <class T>
  static CW_INLINE T Join(T a, T b) {
    return (b > a) | (b != b) ? b : a;
  }
  template <class T>
  static CW_INLINE bool IsBetter(T x, T best) {
    return (x > best) | ((x != x) & (best == best));
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_OPS_H_
