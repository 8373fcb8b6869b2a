// Sums of products below 2^50 by 52-bit multiply-add, read as streams.
#ifndef CLOAKWORK_KERNELS_MODULAR_NARROW_SUM_H_
#define CLOAKWORK_KERNELS_MODULAR_NARROW_SUM_H_

#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// Positions of a chunk: a page of each row, which prefetchers follow.
constexpr u64 kNarrowChunk = 512;
// Terms that are read side by side: few enough that rows which are a power of two apart, these and
// the result, do not evict each other from the caches.
constexpr u64 kNarrowTerms = 4;
// Number of passes before the sums are reduced.
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

// Whether words combined by Or are all below 2^50.
template <class V>
CW_INLINE bool AllNarrow(V seen) {
  return !AnyTopBit(OutsideBit(seen, V::Set(kNarrowLimit - 1)));
}

// Adds `terms` products to the sums of whole vectors from 0 on, of one row or of several that share
// b. With `whole` these are all terms: sums begin as out and end there, reduced. Returns the
// position where it stopped: before the first vector that holds a word of 2^50 or more, or less
// than a vector before count.
template <class V, u64 rows, u64 terms, bool a_broadcast, bool whole, class T>
u64 AddNarrow(T* const (&out)[rows], NarrowSums& sums, const Terms<T> (&a)[rows],
              const Terms<T>& b, u64 count, const SumModulus& m) {
  static_assert(whole || rows == 1, "sums hold one row");
  u64 i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) {
    V low[rows], high[rows], seen = V::Set(0);
    for (u64 r = 0; r < rows; ++r) {
      low[r] = whole ? V::Load(out[r] + i) : V::Load(sums.low + i);
      high[r] = whole ? V::Set(0) : V::Load(sums.high + i);
      if (whole) seen = Or(seen, low[r]);
    }
    for (u64 s = 0; s < terms; ++s) {
      const V y = V::Load(b.data + (i64)s * b.term_step + i);
      seen = Or(seen, y);
      for (u64 r = 0; r < rows; ++r) {
        const T* a_term = a[r].data + (i64)s * a[r].term_step;
        const V x = a_broadcast ? V::Set((u64)(i64)*a_term) : V::Load(a_term + i);
        seen = Or(seen, x);
        low[r] = MulAdd52Low(low[r], x, y);
        high[r] = MulAdd52High(high[r], x, y);
      }
    }
    if (__builtin_expect(!AllNarrow(seen), 0)) break;
    for (u64 r = 0; r < rows; ++r) {
      if (whole) {
        ReduceNarrow(high[r], low[r], m).Store(out[r] + i);
      } else {
        low[r].Store(sums.low + i);
        high[r].Store(sums.high + i);
      }
    }
  }
  return i;
}

template <class V, u64 rows, bool a_broadcast, bool whole, class T>
u64 AddNarrowTerms(T* const (&out)[rows], NarrowSums& sums, const Terms<T> (&a)[rows],
                   const Terms<T>& b, u64 terms, u64 count, const SumModulus& m) {
  static_assert(kNarrowTerms == 4, "what is listed here");
  switch (terms) {
    case 1:
      return AddNarrow<V, rows, 1, a_broadcast, whole>(out, sums, a, b, count, m);
    case 2:
      return AddNarrow<V, rows, 2, a_broadcast, whole>(out, sums, a, b, count, m);
    case 3:
      return AddNarrow<V, rows, 3, a_broadcast, whole>(out, sums, a, b, count, m);
    default:
      return AddNarrow<V, rows, 4, a_broadcast, whole>(out, sums, a, b, count, m);
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

// Reduces the sums in place, to make room for more.
template <class V>
void ReduceNarrowSums(NarrowSums& sums, u64 count, const SumModulus& m) {
  FinishNarrow<V>(sums.low, sums, count, m);
  memset(sums.high, 0, count * sizeof(u64));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_NARROW_SUM_H_
