// The order of passes: blocks that fit the first-level cache run stage by stage, larger ones part
// by part.
#ifndef CLOAKWORK_KERNELS_NTT_BLOCKS_H_
#define CLOAKWORK_KERNELS_NTT_BLOCKS_H_

#include "kernels/ntt/passes.h"

namespace cw {
namespace {

// 16 KB of data leave room in a first-level cache for the twiddles that stream past.
constexpr u64 kCachedElements = 2048;

// Constants in dedicated registers, which stores to rows do not affect; scalar code has too few.
template <class A, bool = (A::V::kLanes > 1)>
struct HeldAs {
  using Type = A;
};
template <class A>
struct HeldAs<A, false> {
  using Type = const A&;
};
template <class A>
using Held = typename HeldAs<A>::Type;

// The position of the stage after `count` others in a run of A::kStages.
template <class A, int stage, int count>
constexpr int kStageAfter = (stage + count) % A::kStages;

// A part of a row: n elements at x, the blocks of `span` elements there start with block `node`.
struct Part {
  u64* x;
  u64 n, span, node;

  CW_INLINE Part Quarter(u64 i) const {
    return {x + i * (n / 4), n / 4, n / 4, 4 * node + i};
  }
  CW_INLINE Part Finer() const { return {x, n, span / 4, 4 * node}; }
};

// Calls body(element, pair) for groups of kPairs pairs of vectors.
template <class V, class Body>
CW_INLINE void ForEachPairs(const Part& part, const Body& body) {
  constexpr u64 kPair = 2 * V::kLanes;
  const u64 first = part.node * (part.span / kPair);
  for (u64 i = 0; i < part.n / kPair; i += kPairs<V>) body(i * kPair, first + i);
}

template <int stage, class A, class Out>
void ForwardLast(const A& arithmetic, const Part& part, const Twiddles& table, Out* out) {
  const Held<A> a = arithmetic;
  ForEachPairs<typename A::V>(part, [&](u64 i, u64 node) {
    ForwardInner<stage>(a, part.x + i, node, table, out + i);
  });
}

// All stages of a part's blocks, to words in [0, q) at out, which may be the part itself.
template <int stage, class A, class Out>
void ForwardLevels(const A& arithmetic, const Part& part, const Twiddles& table, Out* out) {
  const Held<A> a = arithmetic;
  using V = typename A::V;
  constexpr u64 kPair = 2 * V::kLanes;
  if (part.span > 2 * kPair) {
    for (u64 i = 0; i < part.n / part.span; ++i) {
      const Numbers block = {part.x + i * part.span};
      ForwardPass<stage, 2>(a, block, block, part.span, part.node + i, table);
    }
    ForwardLevels<kStageAfter<A, stage, 2>>(a, part.Finer(), table, out);
    return;
  }
  // The stages inside pairs are left, and one more if the number of stages is odd.
  const bool odd = part.span != kPair;
  if constexpr (V::kLanes == 1) {
    if (!odd) return ForwardLast<stage>(a, part, table, out);
    for (u64 i = 0; i < part.n / part.span; ++i) {
      const Numbers block = {part.x + i * part.span};
      ForwardPass<stage, 1>(a, block, block, part.span, part.node + i, table);
    }
    ForwardLast<kStageAfter<A, stage, 1>>(a, part, table, out);
  } else if (odd) {
    ForEachPairs<V>(part, [&](u64 i, u64 node) {
      ForwardOuter<stage, true>(a, part.x + i, node, table);
    });
    ForwardLast<kStageAfter<A, stage, 3>>(a, part, table, out);
  } else {
    ForEachPairs<V>(part, [&](u64 i, u64 node) {
      ForwardOuter<stage, false>(a, part.x + i, node, table);
    });
    ForwardLast<kStageAfter<A, stage, 2>>(a, part, table, out);
  }
}

template <int stage, class A, class Out>
void ForwardPart(const A& arithmetic, const Part& part, const Twiddles& table, Out* out) {
  const Held<A> a = arithmetic;
  if (part.n <= kCachedElements) return ForwardLevels<stage>(a, part, table, out);
  const Numbers numbers = {part.x};
  ForwardPass<stage, 2>(a, numbers, numbers, part.n, part.node, table);
  for (u64 i = 0; i < 4; ++i) {
    ForwardPart<kStageAfter<A, stage, 2>>(a, part.Quarter(i), table, out + i * (part.n / 4));
  }
}

// A whole row of at least kLeastVectorSize words. The words and out may lie at x.
template <class A, class In, class Out>
void ForwardWords(const A& arithmetic, const Words<In>& words, u64* x, u64 n, const Twiddles& table,
                  Out* out) {
  const Held<A> a = arithmetic;
  const Part row = {x, n, n, 1};
  constexpr int next = kStageAfter<A, 0, 2>;
  ForwardPass<0, 2>(a, words, Numbers{x}, n, 1, table);
  if (n <= kCachedElements) return ForwardLevels<next>(a, row.Finer(), table, out);
  for (u64 i = 0; i < 4; ++i) {
    ForwardPart<next>(a, row.Quarter(i), table, out + i * (n / 4));
  }
}

// The stages up to the part's blocks, from words to numbers.
template <class A, class In>
void InverseLevels(const A& arithmetic, const Words<In>& words, const Part& part,
                   const Twiddles& table, const LastFactors& last) {
  const Held<A> a = arithmetic;
  using V = typename A::V;
  constexpr u64 kPair = 2 * V::kLanes;
  const bool odd = __builtin_ctzll(part.span / kPair) % 2 == 1;
  u64 span = odd ? 2 * kPair : kPair;
  ForEachPairs<V>(part, [&](u64 i, u64 node) {
    InverseInner(a, words.From(i), part.x + i, node, table);
  });
  if constexpr (V::kLanes == 1) {
    const u64 first = part.node * (part.span / span);
    for (u64 i = 0; odd && i < part.n / span; ++i) {
      const Numbers block = {part.x + i * span};
      InversePass<1, false>(a, block, block.data, span, first + i, table, last);
    }
  } else {
    ForEachPairs<V>(part, [&](u64 i, u64 node) {
      if (odd) {
        InverseOuter<true>(a, part.x + i, node, table);
      } else {
        InverseOuter<false>(a, part.x + i, node, table);
      }
    });
  }
  while (span < part.span) {
    span *= 4;
    const u64 first = part.node * (part.span / span);
    for (u64 i = 0; i < part.n / span; ++i) {
      const Numbers block = {part.x + i * span};
      InversePass<2, false>(a, block, block.data, span, first + i, table, last);
    }
  }
}

template <class A, class In>
void InversePart(const A& arithmetic, const Words<In>& words, const Part& part,
                 const Twiddles& table, const LastFactors& last) {
  const Held<A> a = arithmetic;
  if (part.n <= kCachedElements) return InverseLevels(a, words, part, table, last);
  for (u64 i = 0; i < 4; ++i) {
    InversePart(a, words.From(i * (part.n / 4)), part.Quarter(i), table, last);
  }
  InversePass<2, false>(a, Numbers{part.x}, part.x, part.n, part.node, table, last);
}

// A whole row of at least kLeastVectorSize words. The words and out may lie at x.
template <class A, class In, class Out>
void InverseWords(const A& arithmetic, const Words<In>& words, u64* x, u64 n, const Twiddles& table,
                  const LastFactors& last, Out* out) {
  const Held<A> a = arithmetic;
  const Part row = {x, n, n, 1};
  if (n <= kCachedElements) {
    InverseLevels(a, words, row.Finer(), table, last);
  } else {
    for (u64 i = 0; i < 4; ++i) {
      InversePart(a, words.From(i * (n / 4)), row.Quarter(i), table, last);
    }
  }
  InversePass<2, true>(a, Numbers{x}, out, n, 1, table, last);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_BLOCKS_H_
