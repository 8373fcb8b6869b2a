// Products and sums of single elements, as csrc/kernels/linear/vectors.h has them.
#ifndef CLOAKWORK_CUDA_LINEAR_ELEMENTS_H_
#define CLOAKWORK_CUDA_LINEAR_ELEMENTS_H_

#include "kernels/common.h"

namespace cw {
namespace {

template <class T>
constexpr bool kComplexElement = false;
template <class T>
constexpr bool kComplexElement<Complex<T>> = true;

// Integers multiply modulo 2^bits; signed ones as unsigned ones, for which C++ defines overflow.
template <class T>
struct ArithmeticOf {
  using type = T;
};
template <>
struct ArithmeticOf<int8_t> {
  using type = uint8_t;
};
template <>
struct ArithmeticOf<int16_t> {
  using type = uint16_t;
};
template <>
struct ArithmeticOf<int32_t> {
  using type = u32;
};
template <>
struct ArithmeticOf<i64> {
  using type = u64;
};
template <class T>
using Arithmetic = typename ArithmeticOf<T>::type;

// 16-bit factors are promoted to int, whose product could overflow.
template <class T>
CW_INLINE T MulAdd(T a, T b, T sum) {
  if constexpr (sizeof(T) < 4) {
    return (T)((u32)a * b + sum);
  } else {
    return a * b + sum;
  }
}
template <class T>
CW_INLINE Complex<T> MulAdd(Complex<T> a, Complex<T> b, Complex<T> sum) {
  return {sum.re + (a.re * b.re + (-a.im) * b.im), sum.im + (a.re * b.im + a.im * b.re)};
}

template <class T>
CW_INLINE T Plus(T x, T y) {
  return (T)(x + y);
}
template <class T>
CW_INLINE Complex<T> Plus(Complex<T> x, Complex<T> y) {
  return {x.re + y.re, x.im + y.im};
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_LINEAR_ELEMENTS_H_
