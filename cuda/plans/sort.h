// Grids of sort and argsort: tiles are sorted by a block each, then merged in pairs.
#ifndef CLOAKWORK_CUDA_PLANS_SORT_H_
#define CLOAKWORK_CUDA_PLANS_SORT_H_

#include "cuda/plans/units.h"

namespace cw {
namespace {

// Lines of at most so many elements have a thread each.
constexpr u64 kFewSorted = 32;
// Records that a thread takes at a time.
constexpr u64 kSortShare = 8;
constexpr u64 kSortThreads = 128;
constexpr u64 kSortTile = kSortShare * kSortThreads;

// What a grid does; of merges, `argument` has the length of the sorted runs as well, a multiple of
// kSortTile.
enum SortPhase : u64 { kSortFew, kSortLines, kSortTiles, kSortMerge, kSortLastMerge };

inline void PlanSortOf(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                       const cw_cuda_limits* limits, cw_cuda_plan* plan, u64 record) {
  const u64 count = Dim(*launch, launch->rank - 1);
  const u64 most = (u64)limits->multiprocessors * kBlocksPerMultiprocessor;
  if (count <= kFewSorted) return PlanThreads(row, units, limits, plan);
  u64 threads = 32;
  while (threads < kSortThreads && threads * kSortShare < count) threads *= 2;
  const u64 shared = 2 * threads * kSortShare * record;
  // Two arrays of records a line.
  const u64 bytes = 2 * count * record;
  if (count <= kSortTile) {
    return OneGrid(plan, GridOf(row->module, row->function, Min(units, most), threads, kSortLines,
                                shared));
  }
  if (units > 1 && bytes > limits->scratch_bytes / units) {
    const u64 allowed = limits->scratch_bytes / bytes;
    const u64 blocks = Min(Min(units, most), allowed == 0 ? 1 : allowed);
    OneGrid(plan, GridOf(row->module, row->function, blocks, threads, kSortLines, shared));
    plan->scratch_bytes = blocks * bytes;
    return;
  }
  const auto add = [&](u64 blocks, u64 argument) {
    plan->grids[plan->count++] =
        GridOf(row->module, row->function, Min(blocks, most), threads, argument, shared);
  };
  const u64 tiles = CeilDiv(count, kSortTile);
  plan->scratch_bytes = units * bytes;
  plan->count = 0;
  add(units * tiles, kSortTiles);
  for (u64 run = kSortTile; run < count; run *= 2) {
    add(units * tiles, run | (2 * run < count ? kSortMerge : kSortLastMerge));
  }
}

inline u64 BytesOf(u32 dtype) {
  switch (dtype) {
    case CW_BOOL:
    case CW_I8:
    case CW_U8:
      return 1;
    case CW_I16:
    case CW_U16:
      return 2;
    case CW_I32:
    case CW_U32:
    case CW_F32:
      return 4;
    default:
      return 8;
  }
}

// Records: keys of integers; of floats the elements beside them.
inline void PlanSort(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                     const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const u32 type = row->row.in_dtype;
  const u64 parts = type == CW_F32 || type == CW_F64 ? 2 : 1;
  PlanSortOf(row, launch, units, limits, plan, parts * BytesOf(type));
}

// Records: keys and indices of 64 bits.
inline void PlanArgsort(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                        const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  PlanSortOf(row, launch, units, limits, plan, 16);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_SORT_H_
