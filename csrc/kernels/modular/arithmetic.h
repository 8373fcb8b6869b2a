// Residue arithmetic on vectors, and its exact scalar counterpart for words of any value.
#ifndef CLOAKWORK_KERNELS_MODULAR_ARITHMETIC_H_
#define CLOAKWORK_KERNELS_MODULAR_ARITHMETIC_H_

#include "kernels/modular/modulus.h"

namespace cw {
namespace {

// A modulus in vector form: one for all lanes, or one for each lane.
template <class V>
struct LaneModulus {
  V q, last, mu, shift;

  static CW_INLINE LaneModulus Set(const Modulus& m) {
    return {V::Set(m.q), V::Set(m.last), V::Set(m.mu), V::Set(m.shift)};
  }
};

// The top bit is set in the lanes where x is not in [0, last], last < 2^63 (or last = 2^64 - 1,
// which sets all). Many words can be combined by `or`.
template <class V>
CW_INLINE V OutsideBit(V x, V last) {
  return Or(x, Sub(last, x));
}

// See combines `seen`, which begins as 0, with another word; SawMore tells whether any of these
// words is not in [0, last], last as above.
template <class V>
CW_INLINE V See(V seen, V x, V last) {
  if constexpr (V::kHasMax) return Max(seen, x);
  return Or(seen, OutsideBit(x, last));
}
template <class V>
CW_INLINE bool SawMore(V seen, V last) {
  return AnyTopBit(V::kHasMax ? OutsideBit(seen, last) : seen);
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

// C's %; 0 for a modulus of 0, which only occurs if another thread writes the memory meanwhile.
template <class T>
CW_INLINE T Remainder(i128 x, T q) {
  return q == -1 || q == 0 ? 0 : (T)(x % q);
}

inline u64 CanonicalRemainder(i128 x, u64 q) {
  if (q == 0) return 0;
  const i128 remainder = x % (i128)q;
  return (u64)(remainder < 0 ? remainder + (i128)q : remainder);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_ARITHMETIC_H_
