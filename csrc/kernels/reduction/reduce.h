// Reductions over the last dims: sum, product, extremes, truth.
//
// Results come from a fixed tree. Along a reduction, blocks of elements are joined in pairs, pairs
// of pairs and so on, in order; across, groups of kGroup positions are.
#ifndef CLOAKWORK_KERNELS_REDUCTION_REDUCE_H_
#define CLOAKWORK_KERNELS_REDUCTION_REDUCE_H_

#include "kernels/reduction/folds.h"
#include "kernels/reduction/plan.h"

namespace cw {
namespace {

// One result from all of its elements.
template <class Fold>
CW_INLINE typename Fold::Out ReduceOne(
    BlockReader<typename Fold::In, Fold::kElements>& reader, u64 count) {
  using State = typename Fold::State;
  if (count == 0) return Fold::Finish(Fold::Empty());
  const u64 size = Fold::kElements;
  if (count <= size) return Fold::Finish(Fold::Block(reader.Next(count), count));
  State level[64];  // level[l] joins 2^l blocks where bit l of `blocks` is set
  u64 blocks = 0;
  for (u64 done = 0; done < count; done += size, ++blocks) {
    const u64 own = Min(size, count - done);
    State state = Fold::Block(reader.Next(own), own);
    if (Fold::IsSettled(state)) return Fold::Finish(state);
    u32 l = 0;
    for (; blocks >> l & 1; ++l) state = Fold::Join(level[l], state);
    level[l] = state;
  }
  u32 l = (u32)__builtin_ctzll(blocks);
  State state = level[l];
  for (++l; blocks >> l != 0; ++l) {
    if (blocks >> l & 1) state = Fold::Join(level[l], state);
  }
  return Fold::Finish(state);
}

template <class Fold>
void ReduceRows(const cw_launch& launch, const ReductionPlan& plan, u64 begin, u64 end) {
  using In = typename Fold::In;
  using Out = typename Fold::Out;
  Rows<2> kept(plan.kept, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  BlockReader<In, Fold::kElements> reader(launch, plan);
  i64 to[kBlock], from[kBlock];
  ForEachBlock(kept, begin, end, [&](u64 position, u64 count) {
    kept.ListOffsets(0, position, count, to);
    kept.ListOffsets(1, position, count, from);
    for (u64 i = 0; i < count; ++i) {
      reader.Start(Data<const In>(launch, 1) + from[i]);
      Data<Out>(launch, 0)[to[i]] = ReduceOne<Fold>(reader, plan.count);
    }
  });
}

// A run of results side by side, and their accumulators in scratch.
template <class Fold>
struct Columns {
  using In = typename Fold::In;
  using Column = typename Fold::Column;
  const ReductionPlan& plan;
  Column* level[64];  // as in ReduceOne
  Column* made;       // the next operand of a join
  In* buffers;        // kGroup of kBlock elements
  const i64* offsets; // of the run's elements; null: they have a constant step
  const In* first;
  i64 step;
  u64 count;

  Columns(const ReductionPlan& plan_, void* scratch) : plan(plan_) {
    auto* next = static_cast<Column*>(scratch);
    const u64 levels = plan.Levels(), stride = plan.ColumnStride();
    made = next;
    for (u64 l = 0; l + 1 < levels; ++l) level[l] = next += stride;
    buffers = reinterpret_cast<In*>(next + stride);
  }

  // The run's elements at an offset along the reduction.
  CW_INLINE const In* Fetch(i64 offset, u64 which) const {
    const In* own = first + offset;
    if (offsets == nullptr && step == 1) return own;
    In* buffer = buffers + which * kBlock;
    if (offsets == nullptr) {
      for (u64 i = 0; i < count; ++i) buffer[i] = own[(i64)i * step];
    } else {
      for (u64 i = 0; i < count; ++i) buffer[i] = own[offsets[i]];
    }
    return buffer;
  }

  CW_INLINE void Group(Odometer& walk) {
    const In* a[kGroup];
    for (u64 row = 0; row < kGroup; ++row, walk.Next()) a[row] = Fetch(walk.offset, row);
    Column* to = made;
#pragma GCC ivdep
    for (u64 i = 0; i < count; ++i) {
      to[i] = Join(Join(Join(Fold::Lift(a[0][i]), Fold::Lift(a[1][i])),
                        Join(Fold::Lift(a[2][i]), Fold::Lift(a[3][i]))),
                   Join(Join(Fold::Lift(a[4][i]), Fold::Lift(a[5][i])),
                        Join(Fold::Lift(a[6][i]), Fold::Lift(a[7][i]))));
    }
  }
  static CW_INLINE Column Join(Column a, Column b) { return Fold::JoinColumns(a, b); }

  // Fewer than kGroup positions, in order.
  CW_INLINE void Rest(Odometer& walk, u64 rows) {
    for (u64 row = 0; row < rows; ++row, walk.Next()) {
      const In* a = Fetch(walk.offset, 0);
      Column* to = made;
      if (row == 0) {
        for (u64 i = 0; i < count; ++i) to[i] = Fold::Lift(a[i]);
      } else {
#pragma GCC ivdep
        for (u64 i = 0; i < count; ++i) to[i] = Join(to[i], Fold::Lift(a[i]));
      }
    }
  }

  CW_INLINE void JoinLevel(u32 l) {
    const Column* a = level[l];
    Column* to = made;
#pragma GCC ivdep
    for (u64 i = 0; i < count; ++i) to[i] = Join(a[i], to[i]);
  }

  // The run's results, in `made`.
  void Reduce(const cw_launch& launch) {
    const u64 groups = plan.count / kGroup, rest = plan.count % kGroup;
    Odometer walk(plan.reduced, launch.dims + plan.kept, Strides(launch, 1) + plan.kept);
    for (u64 group = 0; group < groups; ++group) {
      Group(walk);
      u32 l = 0;
      for (; group >> l & 1; ++l) JoinLevel(l);
      Column* kept = level[l];
      level[l] = made;
      made = kept;
    }
    bool empty = rest == 0;
    if (!empty) Rest(walk, rest);
    for (u32 l = 0; groups >> l != 0; ++l) {
      if ((groups >> l & 1) == 0) continue;
      if (empty) {
        Column* kept = level[l];
        level[l] = made;
        made = kept;
      } else {
        JoinLevel(l);
      }
      empty = false;
    }
    if (empty) {
      for (u64 i = 0; i < count; ++i) made[i] = Fold::EmptyColumn();
    }
  }
};

template <class Fold>
void ReduceColumns(const cw_launch& launch, const ReductionPlan& plan, u64 begin, u64 end,
                   void* scratch) {
  using In = typename Fold::In;
  using Out = typename Fold::Out;
  Rows<2> kept(plan.kept, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  Columns<Fold> columns(plan, scratch);
  i64 offsets[kBlock];
  Out buffer[kBlock];
  const bool direct = kept.stepped[0] && kept.step[0] == 1 && kept.stepped[1] && kept.step[1] == 1;
  ForEachBlockOf(direct ? kNeighbours : kBlock, kept, begin, end, [&](u64 position, u64 count) {
    columns.first = Data<const In>(launch, 1);
    columns.step = kept.step[1];
    columns.count = count;
    columns.offsets = nullptr;
    if (kept.stepped[1]) {
      columns.first += kept.offset[1] + (i64)position * kept.step[1];
    } else {
      kept.ListOffsets(1, position, count, offsets);
      columns.offsets = offsets;
    }
    columns.Reduce(launch);
    Out* out = OpenBlock(kept, 0, Data<Out>(launch, 0), position, buffer);
    for (u64 i = 0; i < count; ++i) out[i] = Fold::FinishColumn(columns.made[i]);
    FlushBlock(kept, 0, Data<Out>(launch, 0), position, count, out);
  });
}

template <class Fold>
void Reduce(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const ReductionPlan plan(launch);
  if (plan.columns) {
    ReduceColumns<Fold>(launch, plan, begin, end, scratch);
  } else {
    ReduceRows<Fold>(launch, plan, begin, end);
  }
}

// The fold of each kernel, by the type of the elements.
template <class V, class In>
struct SumFold
    : Choose<kIsBool<In>, LoopFold<CountTrue<uint8_t>>,
             typename Choose<kIsInteger<In>, LoopFold<IntegerSum<SumWord<In>>>,
                             LaneFold<V, In, AddOp>>::Type> {};
template <class V, class In>
struct ProductFold
    : Choose<kIsInteger<In>, LoopFold<IntegerProduct<SumWord<In>>>,
             typename Choose<kIsComplex<In>, LoopFold<ComplexProduct<In>>,
                             LaneFold<V, In, MultiplyOp>>::Type> {};
template <class V, class In, class Op>
struct ExtremeFold
    : Choose<kIsInteger<In>, LoopFold<IntegerExtreme<In, Op>>, LaneFold<V, In, Op>> {};
template <class V, class In>
struct LeastFold : ExtremeFold<V, In, LeastOp> {};
template <class V, class In>
struct GreatestFold : ExtremeFold<V, In, GreatestOp> {};
template <class V, class In>
struct AnyTrueFold : TypeIs<LoopFold<Search<typename Unsigned<In>::Type, true>>> {};
template <class V, class In>
struct AllTrueFold : TypeIs<LoopFold<Search<typename Unsigned<In>::Type, false>>> {};
template <class V, class In>
struct CountNonzeroFold : TypeIs<LoopFold<CountTrue<typename Unsigned<In>::Type>>> {};

template <class V, class In, class Out>
void Sum(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  Reduce<typename SumFold<V, In>::Type>(launch, begin, end, scratch);
}

template <class V, class In, class Out>
void Product(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  Reduce<typename ProductFold<V, In>::Type>(launch, begin, end, scratch);
}

template <class V, class In, class Out>
void Least(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  Reduce<typename LeastFold<V, In>::Type>(launch, begin, end, scratch);
}

template <class V, class In, class Out>
void Greatest(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  Reduce<typename GreatestFold<V, In>::Type>(launch, begin, end, scratch);
}

template <class V, class In, class Out>
void AnyTrue(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  Reduce<typename AnyTrueFold<V, In>::Type>(launch, begin, end, scratch);
}

template <class V, class In, class Out>
void AllTrue(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  Reduce<typename AllTrueFold<V, In>::Type>(launch, begin, end, scratch);
}

template <class V, class In, class Out>
void CountNonzero(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  Reduce<typename CountNonzeroFold<V, In>::Type>(launch, begin, end, scratch);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_REDUCE_H_
