// Residue arithmetic on vectors, and its exact scalar counterpart for words of any value.
#ifndef CLOAKWORK_KERNELS_MODULAR_ARITHMETIC_H_
#define CLOAKWORK_KERNELS_MODULAR_ARITHMETIC_H_

#include "kernels/modular/modulus.h"

namespace cw {
namespace {

// A modulus in vector form: one for all lanes, or one a lane.
template <class V>
struct LaneModulus {
  V q, last, mu, shift;

  static CW_INLINE LaneModulus Set(const Modulus& m) {
    return {V::Set(m.q), V::Set(m.last), V::Set(m.mu), V::Set(m.shift)};
  }
};

// The top bit is set in the lanes where x is not in [0, last], last < 2^63 (or last = 2^64 - 1,
// which sets all). Cheap to or together over many words.
template <class V>
CW_INLINE V OutsideBit(V x, V last) {
  return Or(x, Sub(last, x));
}

// w * y mod q, lazily.  y any word; w in [0, q); w_shoup = floor(w * 2^64 / q); q < 2^62.
// Result in [0, 2q).  Harvey 2014 (arXiv:1205.2926).
template <class V>
CW_INLINE V MulShoupLazy(V y, V w, V w_shoup, V q) {
  return Sub(MulLow(w, y), MulLow(MulHigh(w_shoup, y), q));
}

inline u64 ShoupOf(u64 w, u64 q) { return (u64)(((u128)w << 64) / q); }

// (high, low) mod q for a product of two residues.  Result in [0, q).
//
// With c = floor(product / 2^(L-2)) < 2^64 and estimate = floor(c * mu / 2^64), the true quotient
// exceeds the estimate by at most 2: product / q - c * mu / 2^64 < 1/2 + 1, floors add less than 1.
template <class V>
CW_INLINE V BarrettReduce(V high, V low, const LaneModulus<V>& m) {
  const V c = Or(ShiftLeft(high, Sub(V::Set(64), m.shift)), ShiftRight(low, m.shift));
  const V rest = Sub(low, MulLow(MulHigh(c, m.mu), m.q));
  return SubIfAtLeast(SubIfAtLeast(rest, Add(m.q, m.q)), m.q);
}

// What % gives in C, for any modulus but 0.
template <class T>
CW_INLINE T Remainder(i128 x, T q) {
  return q == -1 ? 0 : (T)(x % q);
}

inline u64 CanonicalRemainder(i128 x, u64 q) {
  const i128 remainder = x % (i128)q;
  return (u64)(remainder < 0 ? remainder + (i128)q : remainder);
}

// Elementwise ops: Outside marks operands that Fast cannot take; Exact takes any words.
struct ModMulOp {
  static constexpr int kInputs = 2;
  template <class V>
  static CW_INLINE V Outside(V a, V b, const LaneModulus<V>& m) {
    return Or(OutsideBit(a, m.last), OutsideBit(b, m.last));
  }
  template <class V>
  static CW_INLINE V Fast(V a, V b, const LaneModulus<V>& m) {
    V low;
    const V high = MulWide(a, b, low);
    return BarrettReduce(high, low, m);
  }
  template <class T>
  static T Exact(T a, T b, T q) {
    return Remainder<T>((i128)a * b, q);
  }
};

struct ModSumOp {
  static constexpr int kInputs = 2;
  template <class V>
  static CW_INLINE V Outside(V a, V b, const LaneModulus<V>& m) {
    return Or(OutsideBit(a, m.last), OutsideBit(b, m.last));
  }
  template <class V>
  static CW_INLINE V Fast(V a, V b, const LaneModulus<V>& m) {
    return SubIfAtLeast(Add(a, b), m.q);
  }
  template <class T>
  static T Exact(T a, T b, T q) {
    return Remainder<T>((i128)a + b, q);
  }
};

struct ModOp {
  static constexpr int kInputs = 1;
  // Any a >= 0 will do. last has the top bit set just where q is no modulus.
  template <class V>
  static CW_INLINE V Outside(V a, V, const LaneModulus<V>& m) {
    return Or(a, m.last);
  }
  // a < 2^63, mu >> shift = floor(2^64 / q): the estimate of the quotient is at most 1 too small.
  template <class V>
  static CW_INLINE V Fast(V a, V, const LaneModulus<V>& m) {
    const V quotient = MulHigh(a, ShiftRight(m.mu, m.shift));
    return SubIfAtLeast(Sub(a, MulLow(quotient, m.q)), m.q);
  }
  template <class T>
  static T Exact(T a, T, T q) {
    return Remainder<T>(a, q);
  }
};

struct ModNegOp {
  static constexpr int kInputs = 1;
  // Any a in (-q, q) will do, so that small signed secrets become residues without a look at their
  // sign: q - a is in (0, 2q), and 2 last + 1 = 2q - 1.
  template <class V>
  static CW_INLINE V Outside(V a, V, const LaneModulus<V>& m) {
    return OutsideBit(Sub(m.q, a), Add(Add(m.last, m.last), V::Set(1)));
  }
  template <class V>
  static CW_INLINE V Fast(V a, V, const LaneModulus<V>& m) {
    return SubIfAtLeast(Sub(m.q, a), m.q);
  }
  template <class T>
  static T Exact(T a, T, T q) {
    return (T)CanonicalRemainder(-(i128)a, (u64)q);
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_ARITHMETIC_H_
