// Passes over the rows of a transform: several stages in registers between a load and a store.
//
// A block is a node of the tree of sub-transforms: node 1 is the whole row, the halves of node i
// are 2i and 2i + 1, and the butterfly that splits node i uses twiddle i of the table.
#ifndef CLOAKWORK_KERNELS_NTT_PASSES_H_
#define CLOAKWORK_KERNELS_NTT_PASSES_H_

#include "kernels/ntt/row.h"

namespace cw {
namespace {

// The twiddles of kLog stages from a node on, the coarsest first.
template <class A, int kLog>
struct NodeTwiddles {
  typename A::Twiddle at[(1 << kLog) - 1];

  CW_INLINE NodeTwiddles(const A& a, const Twiddles& table, u64 node) {
    Unroll<kLog>(CW_UNROLLED(stage) {
      constexpr int s = stage;
      Unroll<1 << s>(CW_UNROLLED(i) {
        at[(1 << s) - 1 + i] = a.Read(RawTwiddle<typename A::V>::Set(table, (node << s) + i));
      });
    });
  }
};

// Columns of a block that a pass computes together: a single one would wait for its own results.
template <class V>
constexpr int kColumns = V::kLanes == 1 ? 1 : 2;

// Stages over columns of 2^kLog vectors that lie evenly over a block.
template <int first_stage, int kLog, class A, class V, int columns>
CW_INLINE void ForwardStages(const A& a, V (&r)[columns][1 << kLog],
                             const NodeTwiddles<A, kLog>& twiddles) {
  Unroll<kLog>(CW_UNROLLED(stage) {
    constexpr int s = stage;
    Unroll<1 << (kLog - 1)>(CW_UNROLLED(pair) {
      constexpr int half = 1 << (kLog - 1 - s), group = pair / half;
      constexpr int i = group * half + pair;
      Unroll<columns>(CW_UNROLLED(c) {
        const auto& t = twiddles.at[(1 << s) - 1 + group];
        a.template Forward<first_stage + s>(r[c][i], r[c][i + half], t);
      });
    });
  });
}

// Sums of sums are reduced every second stage; kLast: the coarsest stage scales instead.
template <int kLog, bool kLast, class A, class V, int columns>
CW_INLINE void InverseStages(const A& a, V (&r)[columns][1 << kLog],
                             const NodeTwiddles<A, kLog>& twiddles, const LastFactors& last) {
  Unroll<kLog>(CW_UNROLLED(stage) {
    constexpr int s = stage;
    Unroll<1 << (kLog - 1)>(CW_UNROLLED(pair) {
      constexpr int half = 1 << s, group = pair / half, i = group * half + pair;
      constexpr bool of_sums = s % 2 == 1 && pair % half < half / 2;
      constexpr int range = of_sums ? 4 : 2;
      Unroll<columns>(CW_UNROLLED(c) {
        V &u = r[c][i], &v = r[c][i + half];
        if constexpr (kLast && s == kLog - 1) {
          a.template InverseLast<range>(u, v, a.Read(RawTwiddle<V>::Set(last.scale)),
                                        a.Read(RawTwiddle<V>::Set(last.twiddle)));
        } else {
          constexpr bool reduce = s % 2 == 1 || s == kLog - 1;
          a.template Inverse<range, reduce>(u, v, twiddles.at[(1 << (kLog - 1 - s)) - 1 + group]);
        }
      });
    });
  });
}

// kLog stages over a block of n elements in memory, from source to result, which may lie at the
// same place.
template <int first_stage, int kLog, class A, class Source, class Result>
CW_INLINE void ForwardPass(const A& a, const Source& source, const Result& result, u64 n, u64 node,
                           const Twiddles& table) {
  using V = typename A::V;
  constexpr int columns = kColumns<V>;
  const NodeTwiddles<A, kLog> twiddles(a, table, node);
  const u64 step = n >> kLog;
  for (u64 i = 0; i < step; i += columns * V::kLanes) {
    V r[columns][1 << kLog];
    Unroll<columns>(CW_UNROLLED(c) { source.Load(a, r[c], i + c * V::kLanes, step); });
    ForwardStages<first_stage, kLog>(a, r, twiddles);
    Unroll<columns>(CW_UNROLLED(c) { result.Store(a, r[c], i + c * V::kLanes, step); });
  }
}

template <int kLog, bool kLast, class A, class Source, class Out>
CW_INLINE void InversePass(const A& a, const Source& source, Out* out, u64 n, u64 node,
                           const Twiddles& table, const LastFactors& last) {
  using V = typename A::V;
  constexpr int columns = kColumns<V>;
  const NodeTwiddles<A, kLog> twiddles(a, table, node);
  const u64 step = n >> kLog;
  for (u64 i = 0; i < step; i += columns * V::kLanes) {
    V r[columns][1 << kLog];
    Unroll<columns>(CW_UNROLLED(c) { source.Load(a, r[c], i + c * V::kLanes, step); });
    InverseStages<kLog, kLast>(a, r, twiddles, last);
    Unroll<columns>(CW_UNROLLED(c) {
      Unroll<1 << kLog>(CW_UNROLLED(k) { r[c][k].Store(out + i + c * V::kLanes + k * step); });
    });
  }
}

// The last stages of a transform are inside pairs of vectors, which hold 2 * kLanes neighbours
// each. Vectors compute them in two passes: the outer ones, at distances kLanes and kLanes / 2, and
// the inner ones. Short passes are faster than one that keeps all values in registers: the
// processor can hold only a limited number of waiting instructions.

// One stage inside pairs, at distance `step`; of pairs r[2k], r[2k + 1], the first is block `node`.
template <int stage, int step, class A, class V, int size>
CW_INLINE void ForwardInside(const A& a, V (&r)[size], u64 node, const Twiddles& table) {
  constexpr int kNodes = V::kLanes / step;
  Unroll<size / 2>(CW_UNROLLED(k) {
    V &x = r[2 * k], &y = r[2 * k + 1];
    if constexpr (step == V::kLanes) {
      a.template Forward<stage>(x, y, a.Read(RawTwiddle<V>::Set(table, node + k)));
    } else {
      TurnTo<step>(x, y);
      const auto t = RawTwiddle<V>::template Turned<step, true>(table, (node + k) * kNodes);
      a.template Forward<stage>(x, y, a.Read(t));
    }
  });
}

template <int step, int range, bool reduce, class A, class V, int size>
CW_INLINE void InverseInside(const A& a, V (&r)[size], u64 node, const Twiddles& table) {
  constexpr int kNodes = V::kLanes / step;
  Unroll<size / 2>(CW_UNROLLED(k) {
    V &x = r[2 * k], &y = r[2 * k + 1];
    if constexpr (step == V::kLanes) {
      a.template Inverse<range, reduce>(x, y, a.Read(RawTwiddle<V>::Set(table, node + k)));
    } else {
      const auto t = RawTwiddle<V>::template Turned<step, false>(table, (node + k) * kNodes);
      a.template Inverse<range, reduce>(x, y, a.Read(t));
      TurnFrom<step>(x, y);
    }
  });
}

// Pairs that a pass computes together: each one waits for its own results.
template <class V>
constexpr int kPairs = V::kLanes == 1 ? 2 : 4;

// The outer stages of kPairs pairs from block `node` on; kMore: preceded by the stage in which
// pairs are halves.
template <int first_stage, bool kMore, class A>
CW_INLINE void ForwardOuter(const A& a, u64* x, u64 node, const Twiddles& table) {
  using V = typename A::V;
  constexpr int stage = first_stage + kMore;
  constexpr int pairs = kPairs<V>;
  V r[2 * pairs];
  const Numbers numbers = {x};
  numbers.Load(a, r, 0, V::kLanes);
  if constexpr (kMore) {
    Unroll<pairs / 2>(CW_UNROLLED(k) {
      const auto t = a.Read(RawTwiddle<V>::Set(table, node / 2 + k));
      a.template Forward<first_stage>(r[4 * k], r[4 * k + 2], t);
      a.template Forward<first_stage>(r[4 * k + 1], r[4 * k + 3], t);
    });
  }
  ForwardInside<stage, V::kLanes>(a, r, node, table);
  ForwardInside<stage + 1, V::kLanes / 2>(a, r, node, table);
  numbers.Store(a, r, 0, V::kLanes);
}

template <bool kMore, class A>
CW_INLINE void InverseOuter(const A& a, u64* x, u64 node, const Twiddles& table) {
  using V = typename A::V;
  constexpr int pairs = kPairs<V>;
  V r[2 * pairs];
  const Numbers numbers = {x};
  numbers.Load(a, r, 0, V::kLanes);
  InverseInside<V::kLanes / 2, 2, false>(a, r, node, table);
  InverseInside<V::kLanes, 4, true>(a, r, node, table);
  if constexpr (kMore) {
    Unroll<pairs / 2>(CW_UNROLLED(k) {
      const auto t = a.Read(RawTwiddle<V>::Set(table, node / 2 + k));
      a.template Inverse<2, true>(r[4 * k], r[4 * k + 2], t);
      a.template Inverse<2, true>(r[4 * k + 1], r[4 * k + 3], t);
    });
  }
  numbers.Store(a, r, 0, V::kLanes);
}

// The inner stages of kPairs pairs, to or from words.
template <int first_stage, class A, class Out>
CW_INLINE void ForwardInner(const A& a, u64* x, u64 node, const Twiddles& table, Out* out) {
  using V = typename A::V;
  constexpr int pairs = kPairs<V>;
  V r[2 * pairs];
  Numbers{x}.Load(a, r, 0, V::kLanes);
  if constexpr (V::kLanes == 8) {
    ForwardInside<first_stage, 2>(a, r, node, table);
    ForwardInside<first_stage + 1, 1>(a, r, node, table);
  } else {
    ForwardInside<first_stage, 1>(a, r, node, table);
  }
  Unroll<pairs>(CW_UNROLLED(k) { TurnBack(r[2 * k], r[2 * k + 1]); });
  ToWords<Out>{out}.Store(a, r, 0, V::kLanes);
}

template <class A, class In>
CW_INLINE void InverseInner(const A& a, const Words<In>& words, u64* x, u64 node,
                            const Twiddles& table) {
  using V = typename A::V;
  constexpr int pairs = kPairs<V>;
  V r[2 * pairs];
  words.Load(a, r, 0, V::kLanes);
  Unroll<pairs>(CW_UNROLLED(k) { TurnToLast(r[2 * k], r[2 * k + 1]); });
  if constexpr (V::kLanes == 8) {
    InverseInside<1, 2, false>(a, r, node, table);
    InverseInside<2, 4, true>(a, r, node, table);
  } else {
    InverseInside<1, 2, true>(a, r, node, table);
  }
  Numbers{x}.Store(a, r, 0, V::kLanes);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_PASSES_H_
