// Reductions and scans. plans/reduction.h has the grids.
#include "cuda/kernels/kernel.h"
#include "cuda/kernels/reduction/folds.cuh"
#include "cuda/plans/reduction.h"
#include "kernels/reduction/kernels.h"

namespace cw {
namespace {

// The elements of one reduction, in order.
template <class In>
struct Terms {
  const In* first;
  u32 rank;
  const i64 *dims, *strides;

  CW_INLINE Terms(const cw_launch& launch, const ReductionPlan& plan, u64 unit)
      : first(Data<const In>(launch, 1) +
              OffsetAt(unit, plan.kept, launch.dims, Strides(launch, 1))),
        rank(plan.reduced),
        dims(launch.dims + plan.kept),
        strides(Strides(launch, 1) + plan.kept) {}

  CW_INLINE const In* At(u64 index) const {
    if (rank == 1) return first + (i64)index * strides[0];
    return first + OffsetAt(index, rank, dims, strides);
  }
};

template <class Out>
CW_INLINE Out* Result(const cw_launch& launch, const ReductionPlan& plan, u64 unit) {
  return Data<Out>(launch, 0) + OffsetAt(unit, plan.kept, launch.dims, Strides(launch, 0));
}

// States of blocks that come in order, joined as their tree is: level[l] joins 2^l blocks where bit
// l of `blocks` is set.
template <class Share>
struct Tree {
  using State = typename Share::State;
  State level[48];
  u64 blocks = 0;

  CW_INLINE void Add(State state) {
    u32 l = 0;
    for (; blocks >> l & 1; ++l) state = Share::Join(level[l], state);
    level[l] = state;
    ++blocks;
  }
  CW_INLINE State Root() const {
    if (blocks == 0) return Share::Empty();
    u32 l = (u32)__builtin_ctzll(blocks);
    State state = level[l];
    for (++l; blocks >> l != 0; ++l) {
      if (blocks >> l & 1) state = Share::Join(level[l], state);
    }
    return state;
  }
};

// The blocks of a group, if each of `groups` takes the same power of two of them: a subtree.
struct Segment {
  u64 size, first, stop;
  CW_INLINE Segment(u64 blocks, u32 groups, u32 group) : size(1) {
    while (size * groups < blocks) size *= 2;
    first = Min(size * group, blocks);
    stop = Min(first + size, blocks);
  }
};

// Joins what all groups have, the states of each `lanes` apart; group 0 has the result.
template <class Share>
CW_INLINE void JoinGroups(typename Share::State* shared, u64 size, u64 blocks, u32 lanes,
                          u32 group) {
  const u32 groups = blockDim.x / lanes;
  for (u32 apart = 1; apart < groups; apart *= 2) {
    __syncthreads();
    if (group % (2 * apart) == 0 && (group + apart) * size < blocks) {
      shared[threadIdx.x] =
          Share::Join(shared[threadIdx.x], shared[threadIdx.x + apart * lanes]);
    }
  }
  __syncthreads();
}

// Joins the lanes of a result in shared memory, and writes it.
template <class Share>
CW_INLINE void FinishLanes(const cw_launch& launch, const ReductionPlan& plan, u64 unit,
                           typename Share::State* shared) {
  for (u32 half = (u32)Share::kLanes / 2; half >= Share::kEnd; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x] = Share::Join(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    *Result<typename Share::Out>(launch, plan, unit) = Share::Finish(shared);
  }
  __syncthreads();
}

template <class Share>
CW_INLINE u64 BlocksOf(const ReductionPlan& plan) {
  constexpr u64 kBlockWords = Share::kLanes * Share::kSteps;
  return (plan.count * Share::kWords + kBlockWords - 1) / kBlockWords;
}

// The lanes of a part of a result, by a block of threads.
template <class Share>
CW_INLINE void ReduceAlong(const cw_launch& launch, const ReductionPlan& plan, u64 unit,
                           const Segment& part, typename Share::State* shared) {
  constexpr u32 kLanes = Share::kLanes;
  constexpr u64 kBlockWords = kLanes * Share::kSteps;
  const u32 lane = threadIdx.x % kLanes, group = threadIdx.x / kLanes;
  const u64 words = plan.count * Share::kWords, blocks = part.stop - part.first;
  const Segment own(blocks, blockDim.x / kLanes, group);
  const Terms<typename Share::In> a(launch, plan, unit);
  Tree<Share> tree;
  for (u64 block = part.first + own.first; block < part.first + own.stop; ++block) {
    auto state = Share::Empty();
    const u64 first = block * kBlockWords + lane, stop = Min(words, (block + 1) * kBlockWords);
#pragma unroll 4
    for (u64 word = first; word < stop; word += kLanes) {
      state = Share::Join(state, Share::Load(a.At(word / Share::kWords), word));
    }
    tree.Add(state);
    if (Share::IsSettled(state)) break;
  }
  shared[threadIdx.x] = tree.Root();
  JoinGroups<Share>(shared, own.size, blocks, kLanes, group);
}

// `parts` is 0 or what ReducesParts and JoinsParts make of their number.
template <class Share>
CW_INLINE void ReduceLong(const cw_launch& launch, const ReductionPlan& plan, u64 units, u64 parts,
                          typename Share::State* memory, typename Share::State* shared) {
  constexpr u32 kLanes = Share::kLanes;
  const u64 blocks = BlocksOf<Share>(plan), count = parts == 0 ? 1 : parts / 2;
  if (parts == 0 || parts == ReducesParts(count)) {
    for (u64 at = blockIdx.x; at < units * count; at += gridDim.x) {
      const u64 unit = at / count;
      const Segment part(blocks, (u32)count, (u32)(at % count));
      ReduceAlong<Share>(launch, plan, unit, part, shared);
      if (parts == 0) {
        FinishLanes<Share>(launch, plan, unit, shared);
      } else if (threadIdx.x < kLanes) {
        memory[at * kLanes + threadIdx.x] = shared[threadIdx.x];
      }
      __syncthreads();
    }
    return;
  }
  for (u64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    Tree<Share> tree;
    for (u64 at = 0; threadIdx.x < kLanes && at < count; ++at) {
      const Segment part(blocks, (u32)count, (u32)at);
      if (part.first == part.stop) break;
      tree.Add(memory[(unit * count + at) * kLanes + threadIdx.x]);
    }
    shared[threadIdx.x] = tree.Root();
    __syncthreads();
    FinishLanes<Share>(launch, plan, unit, shared);
  }
}

// Results side by side, each by the threads of a lane.
template <class Share>
CW_INLINE void ReduceAcross(const cw_launch& launch, const ReductionPlan& plan, u64 units,
                            typename Share::State* shared) {
  constexpr u32 kLanes = kReductionLanes;
  const u64 unit = blockIdx.x * (u64)kLanes + threadIdx.x % kLanes;
  const u32 group = threadIdx.x / kLanes;
  const u64 blocks = (plan.count + kGroup - 1) / kGroup;
  const Segment own(blocks, blockDim.x / kLanes, group);
  Tree<Share> tree;
  const Terms<typename Share::In> a(launch, plan, Min(unit, units - 1));
  const auto load = [&](u64 index) { return Share::Load(a.At(index), index); };
  for (u64 block = own.first; block < own.stop; ++block) {
    const u64 first = block * kGroup, count = Min(plan.count - first, kGroup);
    auto state = load(first);
    if (count == kGroup) {
      const auto pair = [&](u64 i) { return Share::Join(load(first + i), load(first + i + 1)); };
      state = Share::Join(Share::Join(pair(0), pair(2)), Share::Join(pair(4), pair(6)));
    } else {
      for (u64 i = 1; i < count; ++i) state = Share::Join(state, load(first + i));
    }
    tree.Add(state);
  }
  shared[threadIdx.x] = tree.Root();
  JoinGroups<Share>(shared, own.size, blocks, kLanes, group);
  if (group == 0 && unit < units) {
    *Result<typename Share::Out>(launch, plan, unit) = Share::Finish(shared + threadIdx.x);
  }
}

// One result of few elements, by one thread: lanes of one step each.
template <class Share>
CW_INLINE void ReduceFew(const cw_launch& launch, const ReductionPlan& plan, u64 unit) {
  constexpr u64 kLanes = Share::kLanes;
  typename Share::State lanes[kLanes];
  const Terms<typename Share::In> a(launch, plan, unit);
  for (u64 lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = Share::Empty();
    for (u64 word = lane; word < plan.count * Share::kWords; word += kLanes) {
      lanes[lane] = Share::Join(lanes[lane], Share::Load(a.At(word / Share::kWords), word));
    }
  }
  for (u64 half = kLanes / 2; half >= Share::kEnd; half /= 2) {
    for (u64 lane = 0; lane < half; ++lane) {
      lanes[lane] = Share::Join(lanes[lane], lanes[lane + half]);
    }
  }
  *Result<typename Share::Out>(launch, plan, unit) = Share::Finish(lanes);
}

template <class Along, class Across>
CW_INLINE void ReduceUnits(const cw_launch& launch, u64 units, u64 parts, unsigned char* memory,
                           u64* shared) {
  const ReductionPlan plan(launch);
  if (plan.columns) {
    ReduceAcross<Across>(launch, plan, units, reinterpret_cast<typename Across::State*>(shared));
  } else if (plan.count < kFewReduced) {
    for (u64 unit = ThreadIndex(); unit < units; unit += ThreadCount()) {
      ReduceFew<Along>(launch, plan, unit);
    }
  } else {
    using State = typename Along::State;
    ReduceLong<Along>(launch, plan, units, parts, reinterpret_cast<State*>(memory),
                      reinterpret_cast<State*>(shared));
  }
}

#define CW_REDUCTION(name)                                                               \
  template <class In, class Out>                                                         \
  CW_INLINE void name##Units(const cw_launch& launch, u64 units, u64 parts,              \
                             unsigned char* memory, u64* shared) {                       \
    using Fold = typename name##Fold<U64x1, In>::Type;                                   \
    ReduceUnits<Shares<Fold>, ColumnShares<Fold>>(launch, units, parts, memory, shared); \
  }
CW_REDUCTION(Sum)
CW_REDUCTION(Product)
CW_REDUCTION(Least)
CW_REDUCTION(Greatest)
CW_REDUCTION(AnyTrue)
CW_REDUCTION(AllTrue)
CW_REDUCTION(CountNonzero)
#undef CW_REDUCTION

template <class In, class Out>
CW_INLINE void LeastIndexUnits(const cw_launch& launch, u64 units, u64 parts,
                               unsigned char* memory, u64* shared) {
  using Share = IndexShares<In, LeastOp>;
  ReduceUnits<Share, Share>(launch, units, parts, memory, shared);
}
template <class In, class Out>
CW_INLINE void GreatestIndexUnits(const cw_launch& launch, u64 units, u64 parts,
                                  unsigned char* memory, u64* shared) {
  using Share = IndexShares<In, GreatestOp>;
  ReduceUnits<Share, Share>(launch, units, parts, memory, shared);
}

// Running sums or products of integers, by tiles: each tile's total, the totals before each, and
// then the tiles.
template <class In, class Out, class Op>
struct TiledScan {
  using Scan = Scanner<In, Out, Op>;
  const cw_launch& launch;
  const ReductionPlan& plan;
  u64 units, tiles;
  Out *carries, *shared;

  // The join of what threads before this one have; of all threads together in `total`.
  CW_INLINE Out Before(Out own, Out& total) const {
    shared[threadIdx.x] = own;
    for (u32 apart = 1; apart < blockDim.x; apart *= 2) {
      __syncthreads();
      const Out before = threadIdx.x < apart ? Op::template kIdentity<Out>
                                             : shared[threadIdx.x - apart];
      __syncthreads();
      shared[threadIdx.x] = Op::Join(before, shared[threadIdx.x]);
    }
    __syncthreads();
    total = shared[blockDim.x - 1];
    const Out before = threadIdx.x == 0 ? Op::template kIdentity<Out> : shared[threadIdx.x - 1];
    __syncthreads();
    return before;
  }

  CW_INLINE void Tile(u64 at, bool only_total) const {
    const u64 unit = at / tiles, tile = at % tiles;
    const Terms<In> a(launch, plan, unit);
    const u64 first = tile * kScanTile + threadIdx.x * kScanned;
    const u64 stop = Min(first + kScanned, plan.count);
    Out own = Op::template kIdentity<Out>, total;
    for (u64 i = first; i < stop; ++i) own = Op::Join(own, Scan::Lift(*a.At(i)));
    Out running = Before(own, total);
    if (only_total) {
      if (threadIdx.x == 0) carries[at] = total;
      return;
    }
    if (tiles > 1) running = Op::Join(carries[at], running);
    Out* out = Result<Out>(launch, plan, unit);
    const i64 step = Strides(launch, 0)[plan.kept];
    for (u64 i = first; i < stop; ++i) {
      running = Op::Join(running, Scan::Lift(*a.At(i)));
      out[(i64)i * step] = running;
    }
  }

  // Totals of tiles become what is before each tile.
  CW_INLINE void Carry(u64 unit) const {
    Out* own = carries + unit * tiles;
    Out before = Op::template kIdentity<Out>, total;
    for (u64 first = 0; first < tiles; first += blockDim.x) {
      const u64 at = first + threadIdx.x;
      const Out here = Before(at < tiles ? own[at] : Op::template kIdentity<Out>, total);
      if (at < tiles) own[at] = Op::Join(before, here);
      before = Op::Join(before, total);
    }
  }

  CW_INLINE void Run(u64 phase) const {
    if (phase == kScanCarries) {
      for (u64 unit = blockIdx.x; unit < units; unit += gridDim.x) Carry(unit);
      return;
    }
    for (u64 at = blockIdx.x; at < units * tiles; at += gridDim.x) Tile(at, phase == kScanTotals);
  }
};

template <class In, class Out, class Op>
CW_INLINE void ScanUnitsBy(const cw_launch& launch, u64 units, u64 phase, unsigned char* memory,
                           u64* shared) {
  if constexpr (kIsInteger<In>) {
    if (phase != kScanUnits) {
      const ReductionPlan plan(launch);
      const u64 tiles = (plan.count + kScanTile - 1) / kScanTile;
      const TiledScan<In, Out, Op> scan = {launch, plan, units, tiles,
                                           reinterpret_cast<Out*>(memory), shared};
      return scan.Run(phase);
    }
  }
  for (u64 unit = ThreadIndex(); unit < units; unit += ThreadCount()) {
    Scan<In, Out, Op>(launch, unit, unit + 1);
  }
}

template <class In, class Out>
CW_INLINE void CumulativeSumUnits(const cw_launch& launch, u64 units, u64 phase,
                                  unsigned char* memory, u64* shared) {
  ScanUnitsBy<SumWord<In>, Running<Out>, AddOp>(launch, units, phase, memory, shared);
}
template <class In, class Out>
CW_INLINE void CumulativeProductUnits(const cw_launch& launch, u64 units, u64 phase,
                                      unsigned char* memory, u64* shared) {
  ScanUnitsBy<SumWord<In>, Running<Out>, MultiplyOp>(launch, units, phase, memory, shared);
}

}  // namespace
}  // namespace cw

#undef CW_KERNEL
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) {           \
    using namespace cw;                                       \
    CW_CUDA_SHARED(shared);                                   \
    Function##Units<In, Out>(own, units, argument, memory,    \
                             reinterpret_cast<u64*>(shared)); \
  }
#include "kernels/reduction/kernels.inc"
