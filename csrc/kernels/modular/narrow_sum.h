// Sums of products below 2^50 by 52-bit multiply-add, read as streams.
#ifndef CLOAKWORK_KERNELS_MODULAR_NARROW_SUM_H_
#define CLOAKWORK_KERNELS_MODULAR_NARROW_SUM_H_

#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// Positions of a chunk: a page of each row, which prefetchers follow.
constexpr u64 kNarrowChunk = 512;
// Terms that are read side by side: few enough that rows which lie a power of two apart, as many
// and the result, do not drive each other out of the caches.
constexpr u64 kNarrowTerms = 4;
// Elements that rows are asked for ahead: prefetchers do not follow as many rows over the ends of
// their pages. Measured over memory: a seventh faster with 64, slower with 128 and with none.
constexpr u64 kNarrowAhead = 64;
// So many times before the sums are reduced.
constexpr u64 kNarrowPasses = kSumTerms / kNarrowTerms;
// Distance of a tile's rows, as kSumTileStep.
constexpr u64 kNarrowStep = kNarrowChunk + 8;

// Rows of operands: element i of term s is data[s * term_step + i], or data[s * term_step] of a
// broadcast operand.
template <class T>
struct Terms {
  const T* data;
  i64 term_step;
  bool broadcast;
};

// A chunk's sums as high * 2^52 + low.
struct NarrowSums {
  u64 low[kNarrowChunk], high[kNarrowChunk];
};

// Whether words that were joined by Or are all below 2^50.
template <class V>
CW_INLINE bool AllNarrow(V seen) {
  return !AnyTopBit(OutsideBit(seen, V::Set(kNarrowLimit - 1)));
}

// Adds `terms` products to the sums of whole vectors from 0 on. With `whole` the terms are all
// there are: sums begin as out and end there, reduced. Returns where it ended: before the first
// vector that holds a word of 2^50 or more, or less than a vector before count.
template <class V, u64 terms, bool a_broadcast, bool whole, class T>
u64 AddNarrow(T* out, NarrowSums& sums, const Terms<T>& a, const Terms<T>& b, u64 count,
              const SumModulus& m) {
  u64 i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) {
    V low = whole ? V::Load(out + i) : V::Load(sums.low + i);
    V high = whole ? V::Set(0) : V::Load(sums.high + i);
    V seen = whole ? low : V::Set(0);
    for (u64 s = 0; s < terms; ++s) {
      const T* a_term = a.data + (i64)s * a.term_step;
      const V x = a_broadcast ? V::Set((u64)(i64)*a_term) : V::Load(a_term + i);
      const T* b_term = b.data + (i64)s * b.term_step;
      const V y = V::Load(b_term + i);
      if (!a_broadcast) __builtin_prefetch(a_term + i + kNarrowAhead);
      __builtin_prefetch(b_term + i + kNarrowAhead);
      low = MulAdd52Low(low, x, y);
      high = MulAdd52High(high, x, y);
      seen = Or(seen, Or(x, y));
    }
    if (__builtin_expect(!AllNarrow(seen), 0)) break;
    if (whole) {
      ReduceNarrow(high, low, m).Store(out + i);
    } else {
      low.Store(sums.low + i);
      high.Store(sums.high + i);
    }
  }
  return i;
}

template <class V, bool a_broadcast, bool whole, class T>
u64 AddNarrowTerms(T* out, NarrowSums& sums, const Terms<T>& a, const Terms<T>& b, u64 terms,
                   u64 count, const SumModulus& m) {
  static_assert(kNarrowTerms == 4, "what is listed here");
  switch (terms) {
    case 1:
      return AddNarrow<V, 1, a_broadcast, whole>(out, sums, a, b, count, m);
    case 2:
      return AddNarrow<V, 2, a_broadcast, whole>(out, sums, a, b, count, m);
    case 3:
      return AddNarrow<V, 3, a_broadcast, whole>(out, sums, a, b, count, m);
    default:
      return AddNarrow<V, 4, a_broadcast, whole>(out, sums, a, b, count, m);
  }
}

// Sums begin as out. As AddNarrow.
template <class V, class T>
u64 StartNarrow(const T* out, NarrowSums& sums, u64 count) {
  u64 i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) {
    const V low = V::Load(out + i);
    if (__builtin_expect(!AllNarrow(low), 0)) break;
    low.Store(sums.low + i);
    V::Set(0).Store(sums.high + i);
  }
  return i;
}

// Sums of at most kNarrowPasses * kNarrowTerms products are reduced to out.
template <class V, class T>
void FinishNarrow(T* out, const NarrowSums& sums, u64 count, const SumModulus& m) {
  for (u64 i = 0; i < count; i += V::kLanes) {
    ReduceNarrow(V::Load(sums.high + i), V::Load(sums.low + i), m).Store(out + i);
  }
}

// The same, to make room for more.
template <class V>
void ReduceNarrowSums(NarrowSums& sums, u64 count, const SumModulus& m) {
  FinishNarrow<V>(sums.low, sums, count, m);
  memset(sums.high, 0, count * sizeof(u64));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_NARROW_SUM_H_
