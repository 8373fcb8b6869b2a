// Sums of many pairs of affine points, with one inversion for all (Montgomery's trick), lane by
// lane. Points are "fresh" (in a tensor, with a sign in bit 0 of their address) or "kept" (settled
// words that these functions wrote; infinity is all zero bits).
#ifndef CLOAKWORK_KERNELS_CURVE_PAIR_SUMS_H_
#define CLOAKWORK_KERNELS_CURVE_PAIR_SUMS_H_

#include "kernels/curve/inverse.h"
#include "kernels/curve/lanes.h"
#include "kernels/curve/points.h"

namespace cw {
namespace {

// Addresses of operands and of results, side by side, padded to whole groups of lanes.
struct PairList {
  const u64** left;
  const u64** right;
  u64** out;
  u64 count;
};

// A group's state between the two passes.
template <class V>
struct PairGroup {
  V before;  // the product of all denominators of earlier groups
  V delta;   // this group's denominators
};

// Points of a group: x below k p, y in (-k p, k p), loose.
template <class V>
struct PointLanes {
  V x, y;
};

CW_INLINE const u64* Unsigned(const u64* at) { return (const u64*)((uintptr_t)at & ~(uintptr_t)1); }

template <bool fresh, class V>
CW_INLINE V LoadX(const u64* const* at) {
  if constexpr (!fresh) return GatherKept<V>(at);
  const u64* plain[V::kLanes];
  for (int i = 0; i < V::kLanes; ++i) plain[i] = Unsigned(at[i]);
  return GatherFresh<V>(plain);
}
template <bool fresh, class V>
CW_INLINE PointLanes<V> LoadPoints(const u64* const* at) {
  const u64* plain[V::kLanes];
  u32 negative = 0;
  for (int i = 0; i < V::kLanes; ++i) {
    plain[i] = fresh ? Unsigned(at[i]) : at[i];
    if (fresh) negative |= (u32)((uintptr_t)at[i] & 1) << i;
  }
  PointLanes<V> r;
  r.x = fresh ? GatherFresh<V>(plain) : GatherKept<V>(plain);
  for (int i = 0; i < V::kLanes; ++i) plain[i] += V::kWords;
  r.y = fresh ? NegateLoose(negative, GatherFresh<V>(plain)) : GatherKept<V>(plain);
  return r;
}
template <class V>
CW_INLINE void KeepPoints(const V& x, const V& y, u64* const* out) {
  Keep(x, out);
  u64* second[V::kLanes];
  for (int i = 0; i < V::kLanes; ++i) second[i] = out[i] + V::kWords;
  Keep(y, second);
}

// Lanes of kept points at infinity: a finite point never has y = 0, since the orders of the curves
// are odd.
template <class V>
CW_INLINE u32 InfiniteLanes(const PointLanes<V>& a) {
  return AllZeroBits(a.y);
}

// Lanes with special cases: points with equal x, or one of them at infinity.
struct Cases {
  u32 left, right;  // the sum is that operand
  u32 doubled;      // both are the same point
  u32 gone;         // opposite points: infinity
};

template <bool fresh, class V>
inline Cases CasesOf(u32 equal_x, const PointLanes<V>& a, const PointLanes<V>& b) {
  constexpr u64 k = fresh ? V::kFresh : kSettled;
  Cases cases = {};
  u32 none = 0;
  if (!fresh) {
    cases.right = InfiniteLanes(a);
    cases.left = InfiniteLanes(b);
    none = cases.left & cases.right;
  }
  equal_x &= ~(cases.left | cases.right);
  const V difference = Mul<4 * k>(SubTight<2 * k>(b.y, a.y), OneLanes<V>());
  cases.doubled = equal_x & ZeroLanes(difference);
  cases.gone = (equal_x & ~cases.doubled) | none;
  return cases;
}

// The denominators of a group with special cases.
template <bool fresh, class V>
__attribute__((noinline)) void RepairDelta(u32 equal_x, const u64* const* left,
                                           const u64* const* right, V& delta) {
  constexpr u64 k = fresh ? V::kFresh : kSettled;
  const PointLanes<V> a = LoadPoints<fresh, V>(left), b = LoadPoints<fresh, V>(right);
  const Cases cases = CasesOf<fresh>(equal_x, a, b);
  const V doubled = Settle(SubLoose<2 * k + 1>(AddLoose(a.y, a.y), ZeroLanesOf<V>()));
  delta = SelectLanes(cases.left | cases.right | cases.gone, delta, OneLanes<V>());
  delta = SelectLanes(cases.doubled, delta, doubled);
}

// Results of special lanes in place of those of a chord.
template <bool fresh, class V>
__attribute__((noinline)) bool RepairSums(u32 equal_x, const PairList& pairs, u64 at, V own, V& x,
                                          V& y) {
  constexpr u64 k = fresh ? V::kFresh : kSettled;
  const PointLanes<V> a = LoadPoints<fresh, V>(pairs.left + at);
  const PointLanes<V> b = LoadPoints<fresh, V>(pairs.right + at);
  const Cases cases = CasesOf<fresh>(equal_x, a, b);
  const auto settled = [](const V& value) {
    return Settle(SubLoose<k + 1>(value, ZeroLanesOf<V>()));
  };
  const V ax = settled(a.x), ay = settled(a.y), xx = Square<kSettled>(ax);
  const V slope = Mul<8>(Tighten(AddLoose(AddLoose(xx, xx), xx)), own);
  const V dx = Settle(SubLoose<2 * kSettled + 1>(Square<4>(slope), AddLoose(ax, ax)));
  const V dy = Settle(SubLoose<kSettled + 1>(Mul<4>(SubTight<kSettled>(ax, dx), slope), ay));
  x = SelectLanes(cases.doubled, x, dx);
  y = SelectLanes(cases.doubled, y, dy);
  x = SelectLanes(cases.left, x, ax);
  y = SelectLanes(cases.left, y, ay);
  x = SelectLanes(cases.right, x, settled(b.x));
  y = SelectLanes(cases.right, y, settled(b.y));
  x = SelectLanes(cases.gone, x, ZeroLanesOf<V>());
  y = SelectLanes(cases.gone, y, ZeroLanesOf<V>());
  return (cases.gone | cases.left | cases.right) != 0;
}

// Pairs between a point's prefetch and its use.
constexpr u64 kAhead = 64;

// Prefetches points, which may not start on a cache line.
template <class V>
CW_INLINE void Prefetch(const u64* point) {
  for (int word = 0; word < 2 * V::kWords; word += 8) __builtin_prefetch(point + word);
  __builtin_prefetch(point + 2 * V::kWords - 1);
}

// out = left + right for each pair; results are kept. Reads both operands of a pair before it
// writes its result. `special` has one byte for each group. On entry `infinite` says whether kept
// operands may be at infinity, on return whether results may be.
template <bool fresh, class V>
void SumPairs(const PairList& pairs, PairGroup<V>* groups, uint8_t* special, bool& infinite) {
  constexpr u64 k = fresh ? V::kFresh : kSettled;
  constexpr int lanes = V::kLanes;
  V product = OneLanes<V>();
  u64 count = 0;
  for (u64 at = 0; at < pairs.count; at += lanes, ++count) {
    if (fresh && at + kAhead < pairs.count) {
      for (int i = 0; i < lanes; ++i) {
        Prefetch<V>(Unsigned(pairs.left[at + kAhead + i]));
        Prefetch<V>(Unsigned(pairs.right[at + kAhead + i]));
      }
    }
    const V left = LoadX<fresh, V>(pairs.left + at), right = LoadX<fresh, V>(pairs.right + at);
    V delta = SubTight<k>(right, left);
    V next = Mul<2 * k>(delta, product);
    u32 equal_x = MayHaveZero(next) ? ZeroLanes(next) : 0;
    if (!fresh && infinite) {
      equal_x |= InfiniteLanes(LoadPoints<false, V>(pairs.left + at)) |
                 InfiniteLanes(LoadPoints<false, V>(pairs.right + at));
    }
    if (__builtin_expect(equal_x != 0, 0)) {
      RepairDelta<fresh>(equal_x, pairs.left + at, pairs.right + at, delta);
      next = Mul<2 * k>(delta, product);
    }
    special[count] = (uint8_t)equal_x;
    groups[count] = {product, delta};
    product = next;
  }
  V inverse = InverseLanes(product);
  while (count-- > 0) {
    const u64 at = count * lanes;
    const PairGroup<V>& group = groups[count];
    const V own = Mul<8>(group.before, inverse);
    inverse = Mul<2 * k>(group.delta, inverse);
    const PointLanes<V> a = LoadPoints<fresh, V>(pairs.left + at);
    const PointLanes<V> b = LoadPoints<fresh, V>(pairs.right + at);
    const V slope = Mul<4 * k>(SubTight<2 * k>(b.y, a.y), own);
    // The slope is below 3.8 p: the bound of Mul uses the largest values of its operands.
    V x = Settle(SubLoose<2 * k + 1>(Square<4>(slope), AddLoose(a.x, b.x)));
    V y = Settle(SubLoose<k + 1>(Mul<2 * k>(SubTight<kSettled>(a.x, x), slope), a.y));
    if (__builtin_expect(special[count] != 0, 0)) {
      infinite |= RepairSums<fresh>(special[count], pairs, at, own, x, y);
    }
    KeepPoints(x, y, pairs.out + at);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_PAIR_SUMS_H_
