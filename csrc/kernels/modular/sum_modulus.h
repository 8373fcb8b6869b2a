// Moduli for sums of products, with constants that reduce a 128-bit number once.
#ifndef CLOAKWORK_KERNELS_MODULAR_SUM_MODULUS_H_
#define CLOAKWORK_KERNELS_MODULAR_SUM_MODULUS_H_

#include "kernels/modular/arithmetic.h"
#include "kernels/simd/muladd52.h"

namespace cw {
namespace {

// Products added before a reduction. Of words below 2^62, with one word beside them:
// 15 * 2^124 + 2^62 < 2^128. Of words below 2^50: 15 * 2^100 + 2^52 < 2^104.
constexpr u64 kSumTerms = 15;
// Moduli below this are narrow: a vector with 52-bit multiply-add serves them faster.
constexpr u64 kNarrowLimit = (u64)1 << 50;

// inverse = floor(2^64 / q); power = 2^64 mod q, with its Shoup companion floor(power * 2^64 / q).
// The same for 2^52: narrow_inverse, narrow_power, narrow_shoup.
struct SumModulus {
  u64 q, inverse, power, power_shoup, narrow_inverse, narrow_power, narrow_shoup;
};

inline SumModulus MakeSumModulus(u64 q) {
  const u64 power = (u64)(((u128)1 << 64) % q), narrow = ((u64)1 << 52) % q;
  return {q,
          (u64)(((u128)1 << 64) / q),
          power,
          ShoupOf(power, q),
          ((u64)1 << 52) / q,
          narrow,
          (u64)(((u128)narrow << 52) / q)};
}

// (high, low) mod q for any 128-bit number.  Result in [0, q).
// high * 2^64 by Shoup is below 2q; floor(low * inverse / 2^64) is at most 1 below low / q.
template <class V>
CW_INLINE V ReduceWide(V high, V low, const SumModulus& m) {
  const V q = V::Set(m.q);
  const V upper = MulShoupLazy(high, V::Set(m.power), V::Set(m.power_shoup), q);
  const V lower = Sub(low, MulLow(MulHigh(low, V::Set(m.inverse)), q));
  return SubIfAtLeast(SubIfAtLeast(Add(upper, lower), Add(q, q)), q);
}

// high * 2^52 + low mod q, q < 2^50.  high + low / 2^52 < 2^52.  Result in [0, q).
//
// With low below 2^52 after the carry: upper = high * narrow_power - q * quotient is in [0, 2q)
// (Shoup), lower = low - q * floor(low * narrow_inverse / 2^52) is in [0, 2q) too, as in
// ReduceWide. Their sum is below 4q < 2^52, so that its low 52 bits are all of it, and both
// quotients are subtracted at once.
template <class V>
CW_INLINE V ReduceNarrow(V high, V low, const SumModulus& m) {
  const V q = V::Set(m.q), mask = V::Set(kMask52), zero = V::Set(0);
  const V upper = Add(high, ShiftRight(low, V::Set(52)));
  const V lower = And(low, mask);
  const V quotients = Add(MulAdd52High(zero, upper, V::Set(m.narrow_shoup)),
                          MulAdd52High(zero, lower, V::Set(m.narrow_inverse)));
  const V sum = MulAdd52Low(lower, upper, V::Set(m.narrow_power));
  const V rest = And(MulAdd52Low(sum, quotients, Sub(zero, q)), mask);
  return SubIfAtLeast(SubIfAtLeast(rest, Add(q, q)), q);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_SUM_MODULUS_H_
