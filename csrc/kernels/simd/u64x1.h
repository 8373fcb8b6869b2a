// One 64-bit word in each vector: the portable kernels, and the tails of the others.
//
// The vector types share one interface, described here; algorithms are templates over it.
#ifndef CLOAKWORK_KERNELS_SIMD_U64X1_H_
#define CLOAKWORK_KERNELS_SIMD_U64X1_H_

#include "kernels/common.h"

namespace cw {
namespace {

struct U64x1 {
  static constexpr int kLanes = 1;
  // Whether Max, the greater word of each lane, is one instruction.
  static constexpr bool kHasMax = false;
  u64 v;

  static CW_INLINE U64x1 Set(u64 x) { return {x}; }
  // Signed elements are sign-extended; Store keeps the low bits.
  template <class T>
  static CW_INLINE U64x1 Load(const T* p) {
    return {(u64)(i64)*p};
  }
  // kLanes / step words in bit-reversed order of their indices, each in the lanes that the elements
  // of its block have after TurnTo<step>, or if not `forward` before TurnFrom<step>.
  template <int step, bool forward>
  static CW_INLINE U64x1 LoadTurned(const u64* p) {
    return {*p};
  }
  template <class T>
  CW_INLINE void Store(T* p) const {
    *p = (T)v;
  }
};

CW_INLINE U64x1 Add(U64x1 a, U64x1 b) { return {a.v + b.v}; }
CW_INLINE U64x1 Sub(U64x1 a, U64x1 b) { return {a.v - b.v}; }
CW_INLINE U64x1 And(U64x1 a, U64x1 b) { return {a.v & b.v}; }
CW_INLINE U64x1 Or(U64x1 a, U64x1 b) { return {a.v | b.v}; }
CW_INLINE U64x1 Xor(U64x1 a, U64x1 b) { return {a.v ^ b.v}; }
CW_INLINE U64x1 MulLow(U64x1 a, U64x1 b) { return {a.v * b.v}; }
CW_INLINE U64x1 MulHigh(U64x1 a, U64x1 b) { return {(u64)((u128)a.v * b.v >> 64)}; }

// Returns the high word of the product, low receives the low one.
CW_INLINE U64x1 MulWide(U64x1 a, U64x1 b, U64x1& low) {
  const u128 product = (u128)a.v * b.v;
  low.v = (u64)product;
  return {(u64)(product >> 64)};
}

// a b - c d, the low word.
CW_INLINE U64x1 MulLowDifference(U64x1 a, U64x1 b, U64x1 c, U64x1 d) {
  return {a.v * b.v - c.v * d.v};
}

template <int count>
CW_INLINE U64x1 ShiftRightBy(U64x1 a) {
  return {a.v >> count};
}

// Exchanges lane j of r[i] with lane i of r[j].
CW_INLINE void Transpose(U64x1 (&)[1]) {}

// x and y hold 2 * kLanes neighbours. TurnTo<step>, from the order after TurnTo<2 * step> (from the
// natural order for the greatest step), brings partners at distance `step` into the same lane of x
// and y; TurnBack restores the natural order after step 1. In the other direction, TurnToLast goes
// from the natural order to step 1, and TurnFrom<step> to step 2 * step or finally to the natural
// order. With one lane these do nothing.
template <int step>
CW_INLINE void TurnTo(U64x1&, U64x1&) {}
template <int step>
CW_INLINE void TurnFrom(U64x1&, U64x1&) {}
CW_INLINE void TurnBack(U64x1&, U64x1&) {}
CW_INLINE void TurnToLast(U64x1&, U64x1&) {}

// (high, low) += (a, b) as 128-bit numbers.
CW_INLINE void AddWide(U64x1& high, U64x1& low, U64x1 a, U64x1 b) {
  const u128 sum = ((u128)high.v << 64 | low.v) + ((u128)a.v << 64 | b.v);
  high.v = (u64)(sum >> 64);
  low.v = (u64)sum;
}

// Logical, by a count for each lane in [0, 64]; 64 gives 0.
CW_INLINE U64x1 ShiftLeft(U64x1 a, U64x1 count) { return {count.v > 63 ? 0 : a.v << count.v}; }
CW_INLINE U64x1 ShiftRight(U64x1 a, U64x1 count) { return {count.v > 63 ? 0 : a.v >> count.v}; }

// x - m where x >= m, else x.  x in [0, 2m), m <= 2^63.
CW_INLINE U64x1 SubIfAtLeast(U64x1 x, U64x1 m) {
  const u64 reduced = x.v - m.v;
  return {reduced < x.v ? reduced : x.v};  // wraps to a greater word where x < m
}

// x + m where x < 0 as a signed word, else x.
CW_INLINE U64x1 AddIfNegative(U64x1 x, U64x1 m) { return {x.v + (m.v & (0 - (x.v >> 63)))}; }

// Whether the top bit of any lane is set; any bit of mask.
CW_INLINE bool AnyTopBit(U64x1 x) { return (i64)x.v < 0; }
CW_INLINE bool AnyBit(U64x1 x, U64x1 mask) { return (x.v & mask.v) != 0; }

// 1 where (high, low) < (bound_high, bound_low), both below 2^127, else 0. Without a branch.
CW_INLINE U64x1 LessWide(U64x1 high, U64x1 low, U64x1 bound_high, U64x1 bound_low) {
  const u128 difference = ((u128)high.v << 64 | low.v) - ((u128)bound_high.v << 64 | bound_low.v);
  return {(u64)(difference >> 127)};
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SIMD_U64X1_H_
