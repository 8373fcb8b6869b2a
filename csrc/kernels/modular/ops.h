// The arithmetic of modmul, modmuladd, modsum, mod and modneg on one vector, and on any word.
#ifndef CLOAKWORK_KERNELS_MODULAR_OPS_H_
#define CLOAKWORK_KERNELS_MODULAR_OPS_H_

#include "kernels/modular/arithmetic.h"
#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// One modulus below 2^50 for all lanes, for products by 52-bit multiply-add. left = 52 - L for L =
// bits(q), mu = floor(2^104 / (q << left)) - 2^52, minus_q = -q, reach = 2^L - 1.
template <class V>
struct NarrowModulus {
  V q, last, mu, left, minus_q, reach;

  static CW_INLINE NarrowModulus Set(const Modulus& m) {
    // A power of two has 2^52, which is one more than a factor may be: 1 less is as good as a
    // floor.
    const u64 inverse = Min(m.mu >> 10, (kMask52 << 1) + 1);
    return {V::Set(m.q),           V::Set(m.last),  V::Set(inverse & kMask52),
            V::Set(50 - m.shift), V::Set(0 - m.q), V::Set(((u64)4 << m.shift) - 1)};
  }
};

// a * b mod q for residues.  Result in [0, q).
template <class V>
CW_INLINE V MulMod(V a, V b, const LaneModulus<V>& m) {
  V low;
  const V high = MulWide(a, b, low);
  return BarrettReduce(high, low, m);
}

// a * b mod q for a, b < 2^L.  Result in [0, q).
//
// With q' = q << left in [2^51, 2^52) the quotient is (a << left) * b / q'. high, that product
// without its low 52 bits, times (2^52 + mu) / 2^52, is at most 3 below: the bits that high drops
// count less than 2^52 / q' <= 2, those that mu drops less than high / 2^52 < 1, the last floor
// less than 1. The rest is below 4q < 2^52: its low 52 bits are all of it.
template <class V>
CW_INLINE V MulMod(V a, V b, const NarrowModulus<V>& m) {
  const V zero = V::Set(0);
  const V high = MulAdd52High(zero, ShiftLeft(a, m.left), b);
  const V estimate = MulAdd52High(high, high, m.mu);
  const V rest = And(MulAdd52Low(MulAdd52Low(zero, a, b), estimate, m.minus_q), V::Set(kMask52));
  return SubIfAtLeast(SubIfAtLeast(rest, Add(m.q, m.q)), m.q);
}

// Words are checked together: `seen` combines them and tells whether any is too large for Fast.
//
// Factors may exceed the modulus up to the bound for products below 2^(2 L), if the modulus says
// so.
template <class V>
CW_INLINE V SeeFactor(V seen, V x, const LaneModulus<V>& m) {
  return See(seen, x, m.last);
}
template <class V>
CW_INLINE V SeeFactor(V seen, V x, const NarrowModulus<V>&) {
  return Or(seen, x);
}
template <class V>
CW_INLINE V LargestFactor(const LaneModulus<V>& m) {
  return m.last;
}
template <class V>
CW_INLINE V LargestFactor(const NarrowModulus<V>& m) {
  return m.reach;
}

// For each op: Seen adds a vector of inputs to `seen`, Outside tells whether Fast cannot handle all
// of them; Exact handles any words. M is LaneModulus<V> or NarrowModulus<V>.
struct ModMulOp {
  static constexpr int kInputs = 2;
  static constexpr bool kMultiplies = true;
  template <class V, class M>
  static CW_INLINE V Seen(V seen, const V (&x)[2], const M& m) {
    return SeeFactor(SeeFactor(seen, x[0], m), x[1], m);
  }
  template <class V, class M>
  static CW_INLINE bool Outside(V seen, const M& m) {
    return SawMore(seen, LargestFactor(m));
  }
  template <class V, class M>
  static CW_INLINE V Fast(const V (&x)[2], const M& m) {
    return MulMod(x[0], x[1], m);
  }
  template <class T>
  static T Exact(const T (&x)[2], T q) {
    return Remainder<T>((i128)x[0] * x[1], q);
  }
};

// Residues.
template <int inputs>
struct OnResidues {
  static constexpr int kInputs = inputs;
  template <class V, class M>
  static CW_INLINE V Seen(V seen, const V (&x)[inputs], const M& m) {
    for (int input = 0; input < inputs; ++input) seen = See(seen, x[input], m.last);
    return seen;
  }
  template <class V, class M>
  static CW_INLINE bool Outside(V seen, const M& m) {
    return SawMore(seen, m.last);
  }
};

struct ModMulAddOp : OnResidues<3> {
  static constexpr bool kMultiplies = true;
  template <class V, class M>
  static CW_INLINE V Fast(const V (&x)[3], const M& m) {
    return SubIfAtLeast(Add(MulMod(x[0], x[1], m), x[2]), m.q);
  }
  template <class T>
  static T Exact(const T (&x)[3], T q) {
    return Remainder<T>((i128)Remainder<T>((i128)x[0] * x[1], q) + x[2], q);
  }
};

struct ModSumOp : OnResidues<2> {
  static constexpr bool kMultiplies = false;
  template <class V, class M>
  static CW_INLINE V Fast(const V (&x)[2], const M& m) {
    return SubIfAtLeast(Add(x[0], x[1]), m.q);
  }
  template <class T>
  static T Exact(const T (&x)[2], T q) {
    return Remainder<T>((i128)x[0] + x[1], q);
  }
};

struct ModOp {
  static constexpr int kInputs = 1;
  static constexpr bool kMultiplies = false;
  // Any a >= 0 is valid. last has the top bit set exactly where q is not a modulus.
  template <class V, class M>
  static CW_INLINE V Seen(V seen, const V (&x)[1], const M&) {
    return Or(seen, x[0]);
  }
  template <class V, class M>
  static CW_INLINE bool Outside(V seen, const M& m) {
    return AnyTopBit(Or(seen, m.last));
  }
  // a < 2^63, mu >> shift = floor(2^64 / q): the estimate of the quotient is at most 1 too small.
  template <class V, class M>
  static CW_INLINE V Fast(const V (&x)[1], const M& m) {
    const V quotient = MulHigh(x[0], ShiftRight(m.mu, m.shift));
    return SubIfAtLeast(Sub(x[0], MulLow(quotient, m.q)), m.q);
  }
  template <class T>
  static T Exact(const T (&x)[1], T q) {
    return Remainder<T>(x[0], q);
  }
};

struct ModNegOp {
  static constexpr int kInputs = 1;
  static constexpr bool kMultiplies = false;
  // Any a in (-q, q) is valid, so that small signed secrets become residues without a test of their
  // sign: q - a is in (0, 2q), and 2 last + 1 = 2q - 1.
  template <class V, class M>
  static CW_INLINE V Seen(V seen, const V (&x)[1], const M& m) {
    return See(seen, Sub(m.q, x[0]), Bound(m));
  }
  template <class V, class M>
  static CW_INLINE bool Outside(V seen, const M& m) {
    return SawMore(seen, Bound(m));
  }
  template <class V, class M>
  static CW_INLINE V Fast(const V (&x)[1], const M& m) {
    return SubIfAtLeast(Sub(m.q, x[0]), m.q);
  }
  template <class T>
  static T Exact(const T (&x)[1], T q) {
    return (T)CanonicalRemainder(-(i128)x[0], (u64)q);
  }

 private:
  template <class V>
  static CW_INLINE V Bound(const LaneModulus<V>& m) {
    return Add(Add(m.last, m.last), V::Set(1));
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_OPS_H_
