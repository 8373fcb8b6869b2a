// Butterflies on words for moduli below 2^62.
//
// An arithmetic is a class that the passes are templates over. It holds a modulus in vector form
// and defines the form of a twiddle, and the form and the range of numbers between stages:
//   Number(word)            the number of a word in [0, 2q)
//   Forward<stage>(x, y, w) (x, y) <- (x + w y, x - w y). Stages count modulo kStages from 0, where
//                           x is brought back into its range; runs may be cut short
//   Word(x)                 the word in [0, q) of a result of Forward
//   Inverse<range, reduce>(x, y, w)
//                           (x, y) <- (x + y, w (x - y)). range is 2, or 4 where x and y may be
//                           sums that were not reduced: y always is, x if `reduce`
//   InverseLast<range>(x, y, scale, last)
//                           words in [0, q): (scale (x + y), last (x - y))
#ifndef CLOAKWORK_KERNELS_NTT_HARVEY_H_
#define CLOAKWORK_KERNELS_NTT_HARVEY_H_

#include "kernels/ntt/ntt_plan.h"

namespace cw {
namespace {

// A vector of twiddles: one in all lanes, or as TurnTo<step> arranges them.
template <class V>
struct RawTwiddle {
  V w, companion;

  static CW_INLINE RawTwiddle Set(const TwiddleWords& words) {
    return {V::Set(words.value), V::Set(words.companion)};
  }
  static CW_INLINE RawTwiddle Set(const Twiddles& table, u64 node) {
    return {V::Set(table.value[node]), V::Set(table.companion[node])};
  }
  template <int step, bool forward>
  static CW_INLINE RawTwiddle Turned(const Twiddles& table, u64 node) {
    return {V::template LoadTurned<step, forward>(table.value + node),
            V::template LoadTurned<step, forward>(table.companion + node)};
  }
};

// y w mod q in [0, 2q) for any word y: Shoup's quotient, exact except for its floors.
template <class V_>
struct ShoupProduct {
  using V = V_;
  using Twiddle = RawTwiddle<V>;
  V q;

  explicit CW_INLINE ShoupProduct(u64 q_) : q(V::Set(q_)) {}
  CW_INLINE Twiddle Read(const RawTwiddle<V>& raw) const { return raw; }
  CW_INLINE V operator()(V y, const Twiddle& t) const {
    return MulLowDifference(t.w, y, MulHigh(t.companion, y), q);
  }
};

// Harvey's lazy butterflies (arXiv:1205.2926).
template <class Product>
struct Harvey {
  using V = typename Product::V;
  using Twiddle = typename Product::Twiddle;
  static constexpr int kStages = 1;
  Product product;
  V q, two_q;

  explicit CW_INLINE Harvey(u64 modulus)
      : product(modulus), q(V::Set(modulus)), two_q(V::Set(2 * modulus)) {}

  CW_INLINE Twiddle Read(const RawTwiddle<V>& raw) const { return product.Read(raw); }
  CW_INLINE V Number(V word) const { return word; }

  // x, y in [0, 4q), and again on return.
  template <int stage>
  CW_INLINE void Forward(V& x, V& y, const Twiddle& t) const {
    const V u = SubIfAtLeast(x, two_q);
    const V v = product(y, t);
    x = Add(u, v);
    y = Add(Sub(u, v), two_q);
  }
  CW_INLINE V Word(V x) const { return SubIfAtLeast(SubIfAtLeast(x, two_q), q); }

  // x, y in [0, 2q), and again on return.
  template <int range, bool reduce>
  CW_INLINE void Inverse(V& x, V& y, const Twiddle& t) const {
    const V difference = Add(Sub(x, y), two_q);
    x = SubIfAtLeast(Add(x, y), two_q);
    y = product(difference, t);
  }
  template <int range>
  CW_INLINE void InverseLast(V& x, V& y, const Twiddle& scale, const Twiddle& last) const {
    const V difference = Add(Sub(x, y), two_q);
    x = SubIfAtLeast(product(Add(x, y), scale), q);
    y = SubIfAtLeast(product(difference, last), q);
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_HARVEY_H_
