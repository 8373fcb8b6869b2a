// Butterflies with 52-bit multiply-add. harvey.h defines an arithmetic.
#ifndef CLOAKWORK_KERNELS_NTT_IFMA_H_
#define CLOAKWORK_KERNELS_NTT_IFMA_H_

#include "kernels/ntt/harvey.h"
#include "kernels/simd/muladd52.h"

namespace cw {
namespace {

// y w mod q in [0, 2q) for any word y, 2^22 < q < 2^62.
//
// With the companion c = high * 2^12 + low, the quotient c y / 2^64 is
//   (y >> 52) high + (y mod 2^52) high / 2^52 + (y >> 12) low / 2^52 + less than 2^-40.
// Two floors lose less than 1 each, and c itself less than 1: the difference is below
// (3 + 2^-40) q < 4q, and one conditional subtraction takes it below 2q.
struct IfmaProduct {
  using V = U64x8;
  struct Twiddle {
    V w, high, low;
  };
  V q, two_q;

  explicit CW_INLINE IfmaProduct(u64 q_) : q(V::Set(q_)), two_q(V::Set(2 * q_)) {}
  CW_INLINE Twiddle Read(const RawTwiddle<V>& raw) const {
    return {raw.w, ShiftRightBy<12>(raw.companion), And(raw.companion, V::Set(0xfff))};
  }
  CW_INLINE V operator()(V y, const Twiddle& t) const {
    const V most = MulLow(ShiftRightBy<52>(y), t.high);
    const V quotient = MulAdd52High(MulAdd52High(most, y, t.high), ShiftRightBy<12>(y), t.low);
    return SubIfAtLeast(MulLowDifference(t.w, y, quotient, q), two_q);
  }
};

// Arithmetic modulo q < 2^50 / kStages on numbers modulo 2^52: the bits above are undefined, and
// the multiplications ignore them. Subtractions need no bias of their own: a product is computed as
// s = w y - quotient q - q in [-q, q), so that each stage widens the range by q on both sides, and
// the first of kStages brings x from [0, 4kq) into [kq, 3kq), k = kStages.
template <int kStages_>
struct Ifma {
  using V = U64x8;
  using Twiddle = RawTwiddle<V>;
  static constexpr int kStages = kStages_;
  V q, two_q, minus_q, window, bias, mask, reciprocal;

  explicit CW_INLINE Ifma(u64 modulus)
      : q(V::Set(modulus)),
        two_q(V::Set(2 * modulus)),
        minus_q(V::Set(0 - modulus)),
        window(V::Set(2 * kStages * modulus)),
        bias(V::Set(kStages * modulus)),
        mask(V::Set(kMask52)),
        reciprocal(V::Set(((u64)1 << 52) / modulus)) {}

  CW_INLINE Twiddle Read(const RawTwiddle<V>& raw) const { return raw; }
  CW_INLINE V Number(V word) const { return word; }

  // start + y w - quotient q, the last two in [0, 2q) together for y in [0, 2^52): Shoup's product.
  CW_INLINE V Product(V start, V y, const Twiddle& t) const {
    const V quotient = MulAdd52High(V::Set(0), t.companion, y);
    return MulAdd52Low(MulAdd52Low(start, t.w, y), quotient, minus_q);
  }
  // x mod q in [0, 2q) for x in [0, 2^52): floors and the reciprocal lose less than 1 each.
  CW_INLINE V Barrett(V x) const {
    return MulAdd52Low(x, MulAdd52High(V::Set(0), x, reciprocal), minus_q);
  }
  CW_INLINE V Clean(V x) const { return And(x, mask); }

  // x, y in [0, 4kq) before the first stage and after the last.
  template <int stage>
  CW_INLINE void Forward(V& x, V& y, const Twiddle& t) const {
    V u = x;
    if constexpr (stage % kStages == 0) u = Add(SubIfAtLeast(Clean(x), window), bias);
    const V s = Product(minus_q, y, t);
    x = Add(u, s);
    y = Sub(u, s);
  }
  CW_INLINE V Word(V x) const { return SubIfAtLeast(Clean(Barrett(x)), q); }

  // x, y in [0, range q), range 2 or 4; [0, 2q) where reduced. Sums and differences stay below
  // 2 range q: ranges of 4 are for kStages > 1.
  template <int range, bool reduce>
  CW_INLINE void Inverse(V& x, V& y, const Twiddle& t) const {
    constexpr bool wide = kStages > 1 && range == 2;
    const V difference = Difference<range>(x, y);
    const V sum = Add(x, y);
    if constexpr (kStages == 1 || (reduce && wide)) {
      x = SubIfAtLeast(Clean(sum), two_q);
    } else {
      x = reduce ? Barrett(sum) : sum;
    }
    y = Product(V::Set(0), difference, t);
  }
  template <int range>
  CW_INLINE void InverseLast(V& x, V& y, const Twiddle& scale, const Twiddle& last) const {
    const V difference = Difference<range>(x, y);
    x = SubIfAtLeast(Clean(Product(V::Set(0), Add(x, y), scale)), q);
    y = SubIfAtLeast(Clean(Product(V::Set(0), difference, last)), q);
  }

 private:
  template <int range>
  CW_INLINE V Difference(V x, V y) const {
    return Add(Sub(x, y), kStages > 1 && range == 4 ? Add(two_q, two_q) : two_q);
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_IFMA_H_
