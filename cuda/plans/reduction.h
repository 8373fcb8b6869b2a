// Grids of reductions: blocks of threads that share the elements of a result, with the bits that
// one thread computes (csrc/kernels/reduction/reduce.h has the tree).
#ifndef CLOAKWORK_CUDA_PLANS_REDUCTION_H_
#define CLOAKWORK_CUDA_PLANS_REDUCTION_H_

#include "cuda/plans/units.h"
#include "kernels/reduction/plan.h"

namespace cw {
namespace {

// Threads that take neighbouring elements, or neighbouring results where these lie tight.
constexpr u64 kReductionLanes = 32;
constexpr u64 kReductionThreads = 256;
// The largest state of a thread: a complex number, or an element and its place.
constexpr u64 kReductionStateBytes = 16;
// Reductions of fewer elements have a thread a result.
constexpr u64 kFewReduced = 32;

// Elements of a part of a reduction, at least.
constexpr u64 kLeastPart = 4096;

// Elements that a thread of a scan takes, and a block.
constexpr u64 kScanned = 8;
constexpr u64 kScanTile = kReductionThreads * kScanned;

// What a grid of a scan does.
enum ScanPhase : u64 { kScanUnits, kScanTotals, kScanCarries, kScanTiles };

inline u64 PowerFrom(u64 count) {
  u64 power = 1;
  while (power < count) power *= 2;
  return power;
}

// Threads of a block whose groups of lanes take `each` elements at a time.
inline u64 ReductionThreads(u64 count, u64 each) {
  const u64 groups = PowerFrom(CeilDiv(count, each));
  return Min(kReductionLanes * groups, kReductionThreads);
}

// What a grid of a reduction of results in parts does, one part a block; 0 for whole results.
CW_INLINE u64 ReducesParts(u64 parts) { return 2 * parts + 1; }
CW_INLINE u64 JoinsParts(u64 parts) { return 2 * parts; }

// Parts of a result, where results are too few for the device and long enough.
inline u64 ReductionParts(const ReductionPlan& own, u64 units, const cw_cuda_limits* limits) {
  const u64 most = limits->scratch_bytes / (kReductionLanes * kReductionStateBytes);
  const u64 wanted = 4 * (u64)limits->multiprocessors / units;
  const u64 parts = Min(Min(wanted, own.count / kLeastPart), most / units);
  return parts < 2 ? 1 : parts;
}

inline void PlanReduction(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                          const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const ReductionPlan own(*launch);
  if (own.columns) {
    const u64 threads = ReductionThreads(own.count, 2 * kGroup);
    OneGrid(plan, GridOf(row->module, row->function, CeilDiv(units, kReductionLanes), threads, 0,
                         threads * kReductionStateBytes));
  } else if (own.count < kFewReduced) {
    PlanThreads(row, units, limits, plan);
  } else {
    const u64 threads = ReductionThreads(own.count, 8 * kReductionLanes);
    const u64 shared = threads * kReductionStateBytes;
    const u64 parts = ReductionParts(own, units, limits);
    if (parts == 1) {
      return OneGrid(plan, GridOf(row->module, row->function, units, threads, 0, shared));
    }
    plan->scratch_bytes = units * parts * kReductionLanes * kReductionStateBytes;
    plan->count = 2;
    plan->grids[0] =
        GridOf(row->module, row->function, units * parts, threads, ReducesParts(parts), shared);
    plan->grids[1] = GridOf(row->module, row->function, units, kReductionLanes, JoinsParts(parts),
                            kReductionLanes * kReductionStateBytes);
  }
}

// Sums and products of integers, in any order. Those of numbers that round are one thread's.
inline void PlanScan(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                     const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const ReductionPlan own(*launch);
  const u32 type = row->row.in_dtype;
  const bool rounds = type == CW_F32 || type == CW_F64 || type == CW_C64 || type == CW_C128;
  const u64 tiles = CeilDiv(own.count, kScanTile);
  const u64 bytes = units * tiles * sizeof(u64);
  if (own.columns || rounds || own.count < kFewReduced || bytes > limits->scratch_bytes) {
    return PlanThreads(row, units, limits, plan);
  }
  const u64 shared = kReductionThreads * sizeof(u64);
  plan->count = 0;
  const auto add = [&](u64 blocks, u64 phase) {
    plan->grids[plan->count++] =
        GridOf(row->module, row->function, blocks, kReductionThreads, phase, shared);
  };
  plan->scratch_bytes = tiles == 1 ? 0 : bytes;
  if (tiles > 1) {
    add(units * tiles, kScanTotals);
    add(units, kScanCarries);
  }
  add(units * tiles, kScanTiles);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_REDUCTION_H_
