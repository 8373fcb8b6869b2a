// Vectors of any element type, as wide as the instruction set's, and the shape of the tile of the
// result that a kernel holds in them.
//
// These are the compiler's own vectors: one source serves floats and integers on every processor.
#ifndef CLOAKWORK_KERNELS_LINEAR_VECTORS_H_
#define CLOAKWORK_KERNELS_LINEAR_VECTORS_H_

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/common.h"

namespace cw {
namespace {

template <class T, int bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
  // The same with any alignment.
  typedef T loose __attribute__((vector_size(bytes), aligned(alignof(T)), may_alias));
};
template <class T, int bytes>
using Vector = typename VectorOf<T, bytes>::type;

template <class Vec, class T>
CW_INLINE Vec LoadVector(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T, (int)sizeof(Vec)>::loose*>(p);
}
template <class Vec, class T>
CW_INLINE void StoreVector(T* p, Vec v) {
  *reinterpret_cast<typename VectorOf<T, (int)sizeof(Vec)>::loose*>(p) = v;
}
// x - 0 is x for every x, -0 included, so that this compiles to a broadcast without a subtraction.
template <class Vec, class T>
CW_INLINE Vec Broadcast(T x) {
  return x - Vec{};
}

// a * b + sum: rounded once if the processor has such an instruction.
template <class Vec>
CW_INLINE Vec MulAdd(Vec a, Vec b, Vec sum) {
  return a * b + sum;
}
#if defined(__FMA__)
CW_INLINE __m256 MulAdd(__m256 a, __m256 b, __m256 sum) { return _mm256_fmadd_ps(a, b, sum); }
CW_INLINE __m256d MulAdd(__m256d a, __m256d b, __m256d sum) { return _mm256_fmadd_pd(a, b, sum); }
#endif
#if defined(__AVX512F__)
CW_INLINE __m512 MulAdd(__m512 a, __m512 b, __m512 sum) { return _mm512_fmadd_ps(a, b, sum); }
CW_INLINE __m512d MulAdd(__m512d a, __m512d b, __m512d sum) { return _mm512_fmadd_pd(a, b, sum); }
#endif

template <class T>
CW_INLINE Complex<T> MulAdd(Complex<T> a, Complex<T> b, Complex<T> sum) {
  // GCC would contract a difference beside a sum of the same products.
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

// The component type of a complex element; a real element is its own component.
template <class T>
struct ComponentOf {
  using type = T;
  static constexpr bool kComplex = false;
};
template <class T>
struct ComponentOf<Complex<T>> {
  using type = T;
  static constexpr bool kComplex = true;
};

// Rows and vectors of the tile. With 32 registers of 64 bytes, 8 x 3 sums leave room for three
// vectors of b, and eleven loads feed 24 multiplications: 97 % of a Zen 4's peak was measured,
// against 91 % with 14 x 2 and 97 % with 6 x 4. With 16 registers, 4 x 3 fill them all.
// A complex tile has two sums a vector, and four terms.
template <class V, class T>
struct Tile {
  using Component = typename ComponentOf<T>::type;
  static constexpr bool kComplex = ComponentOf<T>::kComplex;
  static constexpr int kBytes = V::kLanes == 8 ? 64 : V::kLanes == 4 ? 32 : 16;
  static constexpr int kWide = V::kLanes >= 4 ? 3 : 2;
  static constexpr int kNarrow = V::kLanes >= 4 ? 2 : 1;
  static constexpr int kVectors = kComplex ? kNarrow : kWide;
  // No processor multiplies bytes: a row of them takes many instructions.
  static constexpr int kTall = sizeof(T) == 1 ? 2 : V::kLanes == 8 ? 8 : 4;
  static constexpr int kRows = kComplex ? kTall / 2 : kTall;
  static constexpr int kLanes = kBytes / (int)sizeof(Component);
  static constexpr int kColumns = kVectors * kLanes;
  using Vec = Vector<Component, kBytes>;
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_VECTORS_H_
