// Binomial extensions: polynomials over a prime field F, modulo x^degree - w.
#ifndef CLOAKWORK_KERNELS_FIELD_BINOMIAL_H_
#define CLOAKWORK_KERNELS_FIELD_BINOMIAL_H_

#include "kernels/field/scalar.h"

namespace cw {
namespace {

// The declaration of an extension in crates/algebra.
template <class F, u32 degree, u32 w, u32 dtype>
struct BinomialRule {
  using Base = F;
  static constexpr u32 kDegree = degree, kNonresidue = w, kDtype = dtype;
  static_assert(degree == 2 || degree == 4, "Inverse halves the degree; sums have room for four");
};

// A polynomial as stored in memory, the coefficient of 1 first.
template <class R, u32 degree = R::kDegree>
struct Binomial {
  using Base = typename R::Base;
  using Prime = typename Base::Prime;
  static constexpr u32 kDegree = degree, kWords = degree * Base::kWords;
  Base c[degree];
};
#define CW_EXTENSION_TYPE(name, dtype, Base, degree, w) \
  using name = Binomial<BinomialRule<Base, degree, w, dtype>>;
CW_EXTENSIONS(CW_EXTENSION_TYPE)
#undef CW_EXTENSION_TYPE

// The number of prime-field coefficients of an element of F, and their type.
template <class F>
struct CoefficientsOf {
  using Type = F;
  static constexpr u32 kCount = 1;
};
template <class R, u32 degree>
struct CoefficientsOf<Binomial<R, degree>> {
  using Type = typename R::Base;
  static constexpr u32 kCount = degree;
};

// sum_i a[i] b[i].
template <u32 count, class F>
CW_INLINE F DotProduct(const F* a, const F* b) {
  F sum = Mul(a[0], b[0]);
  for (u32 i = 1; i < count; ++i) sum = Add(sum, Mul(a[i], b[i]));
  return sum;
}
// Four products of words below 2^31 fit a word: one reduction serves them all.
template <u32 count, class P>
CW_INLINE Fp32<P> DotProduct(const Fp32<P>* a, const Fp32<P>* b) {
  static_assert(count <= 4 && P::kModulus < (u32)1 << 31, "count p^2 is below 2^64");
  constexpr u64 p = P::kModulus;
  u64 sum = 0;
  for (u32 i = 0; i < count; ++i) sum += (u64)a[i].value * b[i].value;
  // (sum + quotient p) / 2^32 is below 3 p: halves are added, because the whole may overflow.
  const u32 quotient = (u32)sum * P::kInverse32;
  const u64 t = (sum >> 32) + ((quotient * p) >> 32) + ((u32)sum != 0);
  const u64 less = t >= 2 * p ? t - 2 * p : t;
  return {(u32)(less >= p ? less - p : less)};
}

template <class R, u32 degree>
CW_INLINE Binomial<R, degree> Zero(const Binomial<R, degree>*) {
  return {};
}
template <class R, u32 degree>
CW_INLINE Binomial<R, degree> One(const Binomial<R, degree>*) {
  Binomial<R, degree> one = {};
  one.c[0] = OneOf<typename R::Base>();
  return one;
}
template <class R, u32 degree>
CW_INLINE bool Equal(const Binomial<R, degree>& a, const Binomial<R, degree>& b) {
  bool equal = true;
  for (u32 i = 0; i < degree; ++i) equal &= Equal(a.c[i], b.c[i]);
  return equal;
}
template <class R, u32 degree>
CW_INLINE bool IsZero(const Binomial<R, degree>& a) {
  bool zero = true;
  for (u32 i = 0; i < degree; ++i) zero &= IsZero(a.c[i]);
  return zero;
}
template <class R, u32 degree>
CW_INLINE Binomial<R, degree> Add(const Binomial<R, degree>& a, const Binomial<R, degree>& b) {
  Binomial<R, degree> sum;
  for (u32 i = 0; i < degree; ++i) sum.c[i] = Add(a.c[i], b.c[i]);
  return sum;
}
template <class R, u32 degree>
CW_INLINE Binomial<R, degree> Sub(const Binomial<R, degree>& a, const Binomial<R, degree>& b) {
  Binomial<R, degree> difference;
  for (u32 i = 0; i < degree; ++i) difference.c[i] = Sub(a.c[i], b.c[i]);
  return difference;
}
template <class R, u32 degree>
CW_INLINE Binomial<R, degree> Neg(const Binomial<R, degree>& a) {
  Binomial<R, degree> negative;
  for (u32 i = 0; i < degree; ++i) negative.c[i] = Neg(a.c[i]);
  return negative;
}
// Each coefficient is a sum of `degree` products: with those of b, or of w b from x^degree = w on.
template <class R, u32 degree>
CW_INLINE Binomial<R, degree> Mul(const Binomial<R, degree>& a, const Binomial<R, degree>& b) {
  using F = typename R::Base;
  // b_(degree - 1) .. b_0, then w b_(degree - 1) .. w b_1: coefficient k uses them from degree - 1
  // - k on.
  F reversed[2 * degree - 1];
  const F w = FromU64<F>(R::kNonresidue);
  for (u32 i = 0; i < degree; ++i) {
    reversed[degree - 1 - i] = b.c[i];
    if (i != 0) reversed[2 * degree - 1 - i] = Mul(w, b.c[i]);
  }
  Binomial<R, degree> product;
  for (u32 k = 0; k < degree; ++k) {
    product.c[k] = DotProduct<degree>(a.c, reversed + degree - 1 - k);
  }
  return product;
}
// Times an element of the prime field.
template <class R, u32 degree>
CW_INLINE Binomial<R, degree> Mul(const Binomial<R, degree>& a, const typename R::Base& b) {
  Binomial<R, degree> product;
  for (u32 i = 0; i < degree; ++i) product.c[i] = Mul(a.c[i], b);
  return product;
}
template <class R, u32 degree>
CW_INLINE Binomial<R, degree> FromCanonical(const Words<degree * R::Base::kWords>& number,
                                            const Binomial<R, degree>*) {
  using F = typename R::Base;
  Binomial<R, degree> element;
  for (u32 i = 0; i < degree; ++i) {
    Words<F::kWords> own;
    for (u32 j = 0; j < F::kWords; ++j) own.word[j] = number.word[i * F::kWords + j];
    element.c[i] = FromCanonical(own, static_cast<const F*>(nullptr));
  }
  return element;
}
template <class R, u32 degree>
CW_INLINE Words<degree * R::Base::kWords> ToCanonical(const Binomial<R, degree>& a) {
  using F = typename R::Base;
  Words<degree * F::kWords> number;
  for (u32 i = 0; i < degree; ++i) {
    const Words<F::kWords> own = ToCanonical(a.c[i]);
    for (u32 j = 0; j < F::kWords; ++j) number.word[i * F::kWords + j] = own.word[j];
  }
  return number;
}

// 1 / a; 0 for 0. a = e + x o, e and o polynomials of y = x^2: that is (e - x o) / (e^2 - y o^2),
// whose divisor is of half the degree, modulo y^(degree / 2) - w.
template <class R>
inline Binomial<R, 1> Inverse(const Binomial<R, 1>& a) {
  return {{Inverse(a.c[0])}};
}
template <class R, u32 degree>
inline Binomial<R, degree> Inverse(const Binomial<R, degree>& a) {
  using F = typename R::Base;
  constexpr u32 half = degree / 2;
  Binomial<R, half> even, odd;
  for (u32 i = 0; i < half; ++i) {
    even.c[i] = a.c[2 * i];
    odd.c[i] = a.c[2 * i + 1];
  }
  const Binomial<R, half> square = Mul(odd, odd);
  Binomial<R, half> by_y;
  by_y.c[0] = Mul(FromU64<F>(R::kNonresidue), square.c[half - 1]);
  for (u32 i = 1; i < half; ++i) by_y.c[i] = square.c[i - 1];
  const Binomial<R, half> inverse = Inverse(Sub(Mul(even, even), by_y));
  even = Mul(even, inverse);
  odd = Neg(Mul(odd, inverse));
  Binomial<R, degree> result;
  for (u32 i = 0; i < half; ++i) {
    result.c[2 * i] = even.c[i];
    result.c[2 * i + 1] = odd.c[i];
  }
  return result;
}

// Roots of unity are those of the prime field.
template <class R, u32 degree>
CW_INLINE auto RootExponent(const Binomial<R, degree>*, u32 log2_order) {
  return RootExponent(static_cast<const typename R::Base*>(nullptr), log2_order);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_BINOMIAL_H_
