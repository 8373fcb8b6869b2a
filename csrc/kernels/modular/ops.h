// What modmul, modmuladd, modsum, mod and modneg do to one vector, and to one word of any value.
#ifndef CLOAKWORK_KERNELS_MODULAR_OPS_H_
#define CLOAKWORK_KERNELS_MODULAR_OPS_H_

#include "kernels/modular/arithmetic.h"
#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// One modulus below 2^50 for all lanes, for products by 52-bit multiply-add. mu = floor(2^(L + 50)
// / q) and right = L - 2 for L = bits(q); left = 52 - right; minus_q = -q.
template <class V>
struct NarrowModulus {
  V q, last, mu, right, left, minus_q;

  static CW_INLINE NarrowModulus Set(const Modulus& m) {
    return {V::Set(m.q),     V::Set(m.last),       V::Set(m.mu >> 12),
            V::Set(m.shift), V::Set(52 - m.shift), V::Set(0 - m.q)};
  }
};

// a * b mod q for residues.  Result in [0, q).
template <class V>
CW_INLINE V MulMod(V a, V b, const LaneModulus<V>& m) {
  V low;
  const V high = MulWide(a, b, low);
  return BarrettReduce(high, low, m);
}

// As BarrettReduce with 52 for 64: c = floor(product / 2^(L-2)) < 2^52, and the estimate of the
// quotient is at most 2 too small. What is left is below 3q < 2^52: its low 52 bits are all of it.
template <class V>
CW_INLINE V MulMod(V a, V b, const NarrowModulus<V>& m) {
  const V zero = V::Set(0);
  const V low = MulAdd52Low(zero, a, b), high = MulAdd52High(zero, a, b);
  const V c = Or(ShiftLeft(high, m.left), ShiftRight(low, m.right));
  const V estimate = MulAdd52High(zero, c, m.mu);
  const V rest = And(MulAdd52Low(low, estimate, m.minus_q), V::Set(kMask52));
  return SubIfAtLeast(SubIfAtLeast(rest, Add(m.q, m.q)), m.q);
}

// Of each op: Outside marks vectors of inputs that Fast cannot take; Exact takes any words. M is
// LaneModulus<V> or NarrowModulus<V>.
struct ModMulOp {
  static constexpr int kInputs = 2;
  static constexpr bool kMultiplies = true;
  template <class V, class M>
  static CW_INLINE V Outside(const V (&x)[2], const M& m) {
    return Or(OutsideBit(x[0], m.last), OutsideBit(x[1], m.last));
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

struct ModMulAddOp {
  static constexpr int kInputs = 3;
  static constexpr bool kMultiplies = true;
  template <class V, class M>
  static CW_INLINE V Outside(const V (&x)[3], const M& m) {
    return Or(Or(OutsideBit(x[0], m.last), OutsideBit(x[1], m.last)), OutsideBit(x[2], m.last));
  }
  template <class V, class M>
  static CW_INLINE V Fast(const V (&x)[3], const M& m) {
    return SubIfAtLeast(Add(MulMod(x[0], x[1], m), x[2]), m.q);
  }
  template <class T>
  static T Exact(const T (&x)[3], T q) {
    return Remainder<T>((i128)Remainder<T>((i128)x[0] * x[1], q) + x[2], q);
  }
};

struct ModSumOp {
  static constexpr int kInputs = 2;
  static constexpr bool kMultiplies = false;
  template <class V, class M>
  static CW_INLINE V Outside(const V (&x)[2], const M& m) {
    return Or(OutsideBit(x[0], m.last), OutsideBit(x[1], m.last));
  }
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
  // Any a >= 0 will do. last has the top bit set just where q is no modulus.
  template <class V, class M>
  static CW_INLINE V Outside(const V (&x)[1], const M& m) {
    return Or(x[0], m.last);
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
  // Any a in (-q, q) will do, so that small signed secrets become residues without a look at their
  // sign: q - a is in (0, 2q), and 2 last + 1 = 2q - 1.
  template <class V, class M>
  static CW_INLINE V Outside(const V (&x)[1], const M& m) {
    return OutsideBit(Sub(m.q, x[0]), Add(Add(m.last, m.last), V::Set(1)));
  }
  template <class V, class M>
  static CW_INLINE V Fast(const V (&x)[1], const M& m) {
    return SubIfAtLeast(Sub(m.q, x[0]), m.q);
  }
  template <class T>
  static T Exact(const T (&x)[1], T q) {
    return (T)CanonicalRemainder(-(i128)x[0], (u64)q);
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_OPS_H_
