// argmin and argmax: the index of the first of the best elements.
#ifndef CLOAKWORK_KERNELS_REDUCTION_EXTREME_INDEX_H_
#define CLOAKWORK_KERNELS_REDUCTION_EXTREME_INDEX_H_

#include "kernels/reduction/reduce.h"

namespace cw {
namespace {

// Shorter reductions are searched element by element.
constexpr u64 kShortSearch = 32;
// Longer ones in parts of this length that stay in the first-level cache: which of equal elements
// is the first does not depend on it.
constexpr u64 kLongSearch = 1024;

// The place of the first element that equals `found`, or is NaN as it is; the last place if there
// is none: another thread may have written the block during the call.
template <class In>
CW_INLINE u64 PlaceOf(In found, const In* a, u64 count) {
  constexpr u64 kGroup = 32;
  u64 i = 0;
  if (found == found) {
    for (; i + kGroup < count; i += kGroup) {
      typename Choose<sizeof(In) == 8, u64, u32>::Type any = 0;
      for (u64 j = 0; j < kGroup; ++j) any |= a[i + j] == found ? 1 : 0;
      if (any != 0) break;
    }
  }
  while (i + 1 < count && a[i] != found && (found == found || a[i] == a[i])) ++i;
  return i;
}

// One result: first the best of each block, by vectors; its index only if it improves the best.
template <class Fold, class Op>
CW_INLINE i64 FindExtreme(BlockReader<typename Fold::In, Fold::kElements>& reader, u64 count) {
  using In = typename Fold::In;
  In best = {};
  i64 place = -1;
  u64 own = 0;
  for (u64 done = 0; done < count; done += own) {
    own = reader.Together(Min(kLongSearch, count - done));
    const In* a = reader.Next(own);
    if (own <= kShortSearch) {
      for (u64 i = 0; i < own; ++i) {
        if (place >= 0 && !Op::IsBetter(a[i], best)) continue;
        best = a[i];
        place = (i64)(done + i);
      }
      continue;
    }
    const In found = Fold::Finish(Fold::Block(a, own));
    if (place >= 0 && !Op::IsBetter(found, best)) continue;
    best = found;
    place = (i64)(done + PlaceOf(found, a, own));
    if (best != best) break;
  }
  return place;
}

template <class Fold, class Op>
void SearchRows(const cw_launch& launch, const ReductionPlan& plan, u64 begin, u64 end) {
  using In = typename Fold::In;
  Rows<2> kept(plan.kept, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  BlockReader<In, Fold::kElements> reader(launch, plan);
  i64 to[kBlock], from[kBlock];
  ForEachBlock(kept, begin, end, [&](u64 position, u64 count) {
    kept.ListOffsets(0, position, count, to);
    kept.ListOffsets(1, position, count, from);
    for (u64 i = 0; i < count; ++i) {
      reader.Start(Data<const In>(launch, 1) + from[i]);
      Data<i64>(launch, 0)[to[i]] = FindExtreme<Fold, Op>(reader, plan.count);
    }
  });
}

// Neighbouring results together, one position of the searched axis after another.
template <class In, class Op>
void SearchColumns(const cw_launch& launch, const ReductionPlan& plan, u64 begin, u64 end) {
  Rows<2> kept(plan.kept, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  const i64 step = Strides(launch, 1)[plan.kept];
  i64 place[kBlock];
  In best[kBlock], buffer[kBlock];
  ForEachBlock(kept, begin, end, [&](u64 position, u64 count) {
    for (u64 at = 0; at < plan.count; ++at) {
      const In* data = Data<const In>(launch, 1) + (i64)at * step;
      const In* a = FetchBlock(kept, 1, data, position, count, buffer);
#pragma GCC ivdep
      for (u64 i = 0; i < count; ++i) {
        const bool better = (at == 0) | Op::IsBetter(a[i], best[i]);
        best[i] = better ? a[i] : best[i];
        place[i] = better ? (i64)at : place[i];
      }
    }
    i64* out = OpenBlock(kept, 0, Data<i64>(launch, 0), position, place);
    if (out != place) memcpy(out, place, count * sizeof(i64));
    FlushBlock(kept, 0, Data<i64>(launch, 0), position, count, place);
  });
}

template <class V, class In, class Op>
CW_INLINE void SearchExtreme(const cw_launch& launch, u64 begin, u64 end) {
  const ReductionPlan plan(launch);
  if (plan.columns) {
    SearchColumns<In, Op>(launch, plan, begin, end);
  } else {
    SearchRows<typename ExtremeFold<V, In, Op>::Type, Op>(launch, plan, begin, end);
  }
}

template <class V, class In, class Out>
void LeastIndex(const cw_launch& launch, u64 begin, u64 end, void*) {
  SearchExtreme<V, In, LeastOp>(launch, begin, end);
}

template <class V, class In, class Out>
void GreatestIndex(const cw_launch& launch, u64 begin, u64 end, void*) {
  SearchExtreme<V, In, GreatestOp>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_EXTREME_INDEX_H_
