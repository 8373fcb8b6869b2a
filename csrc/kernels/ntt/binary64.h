// Butterflies in binary64 with fused multiply-add. harvey.h defines an arithmetic.
#ifndef CLOAKWORK_KERNELS_NTT_BINARY64_H_
#define CLOAKWORK_KERNELS_NTT_BINARY64_H_

#include "kernels/ntt/harvey.h"

namespace cw {
namespace {

// Numbers are integers of either sign, |x| <= 2^52, q < 2^50.
//
// y w mod q, |w| <= q / 2: with high = y w rounded and low = y w - high, which one fused operation
// gives exactly, and the quotient = y (w / q) rounded to an integer, high - quotient q + low is the
// product less quotient q. Each step is exact: |high| < 2^101 is a multiple of its unit in the last
// place, an integer or with low = 0; the difference and the sum are integers below 2^53.
// The quotient is off by 1/2 and by the rounding error of w / q, |y| 2^-54:
//   |result| <= (1/2 + |y| 2^-54) q <= 3/4 q.
template <class V_>
struct Binary64 {
  using V = V_;
  using Twiddle = RawTwiddle<V>;
  static constexpr int kStages = 4;
  V q, inverse_q, rounder;

  explicit CW_INLINE Binary64(u64 modulus)
      : q(SetDouble((double)modulus)),
        inverse_q(SetDouble(1.0 / (double)modulus)),
        rounder(SetDouble(6755399441055744.0)) {}  // 3 * 2^51

  static CW_INLINE V SetDouble(double x) {
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return V::Set(bits);
  }

  CW_INLINE Twiddle Read(const RawTwiddle<V>& raw) const { return raw; }
  CW_INLINE V Number(V word) const { return DoubleOfWord(word); }

  // a b to the nearest integer, below 2^51.
  CW_INLINE V Quotient(V a, V b) const { return SubDouble(MulAddDouble(a, b, rounder), rounder); }
  CW_INLINE V Product(V y, const Twiddle& t) const {
    const V high = MulDouble(y, t.w);
    const V low = MulSubDouble(y, t.w, high);
    return AddDouble(SubMulDouble(high, Quotient(y, t.companion), q), low);
  }
  // |result| <= q / 2 + 1.
  CW_INLINE V Reduced(V x) const { return SubMulDouble(x, Quotient(x, inverse_q), q); }

  // With x reduced and |y| <= 4q, the first of four stages leads to at most (1/2 + 3/4) q, and with
  // the bound above the next ones to 1.83 q, 2.45 q and 3.1 q: below 4q < 2^52.
  template <int stage>
  CW_INLINE void Forward(V& x, V& y, const Twiddle& t) const {
    const V u = stage % kStages == 0 ? Reduced(x) : x;
    const V v = Product(y, t);
    x = AddDouble(u, v);
    y = SubDouble(u, v);
  }
  CW_INLINE V Word(V x) const {
    return WordOfDouble(AddDoubleIfNegative(Reduced(x), q));
  }

  // |x|, |y| <= range / 2 * 3/4 q, or words in [0, range / 2 * 2q): values that are multiplied are
  // at most 4q, values that are reduced at most 8q < 2^53.
  template <int range, bool reduce>
  CW_INLINE void Inverse(V& x, V& y, const Twiddle& t) const {
    const V difference = SubDouble(x, y);
    const V sum = AddDouble(x, y);
    x = reduce ? Reduced(sum) : sum;
    y = Product(difference, t);
  }
  template <int range>
  CW_INLINE void InverseLast(V& x, V& y, const Twiddle& scale, const Twiddle& last) const {
    const V difference = SubDouble(x, y);
    x = WordOfDouble(AddDoubleIfNegative(Product(AddDouble(x, y), scale), q));
    y = WordOfDouble(AddDoubleIfNegative(Product(difference, last), q));
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_BINARY64_H_
