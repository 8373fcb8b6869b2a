// How launches become grids: host code.
#ifndef CLOAKWORK_CUDA_PLANS_UNITS_H_
#define CLOAKWORK_CUDA_PLANS_UNITS_H_

#include "cloakwork/cuda.h"
#include "kernels/common.h"

namespace cw {
namespace {

// The most blocks of a grid that steps over its work.
constexpr u64 kBlocksPerMultiprocessor = 32;

inline u64 CeilDiv(u64 a, u64 b) { return (a + b - 1) / b; }

// A grid of one dimension. It has at least one block.
inline cw_cuda_grid GridOf(const char* module, const char* symbol, u64 blocks, u64 threads,
                           u64 argument = 0, u64 shared_bytes = 0) {
  const u32 most = 0x7fffffff;
  const u32 first = blocks == 0 ? 1 : blocks > most ? most : (u32)blocks;
  return {module, symbol, nullptr, argument, {first, 1, 1}, (u32)threads, (u32)shared_bytes};
}

// A grid of a row's function.
inline cw_cuda_grid GridOfRow(const cw_cuda_row* row, u64 blocks, u64 threads, u64 argument = 0,
                              u64 shared_bytes = 0) {
  cw_cuda_grid grid =
      GridOf(row->module, row->function, blocks, threads, argument, shared_bytes);
  grid.many = row->many;
  return grid;
}

inline void OneGrid(cw_cuda_plan* plan, const cw_cuda_grid& grid) {
  plan->scratch_bytes = 0;
  plan->count = 1;
  plan->grids[0] = grid;
}

// A thread for each of `places`, as many as keep the device busy; they step over the rest.
inline void PlanThreads(const cw_cuda_row* row, u64 places, const cw_cuda_limits* limits,
                        cw_cuda_plan* plan, u64 threads = 128) {
  const u64 most = (u64)limits->multiprocessors * kBlocksPerMultiprocessor;
  OneGrid(plan, GridOfRow(row, Min(CeilDiv(places, threads), most), threads));
}

// A thread a unit, each with its own scratch memory: CW_KERNEL of kernel.h.
inline void PlanUnits(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                      const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const cw_size_fn size = row->row.scratch_bytes;
  const u64 bytes = size == nullptr ? 0 : RoundUp(size(launch));
  PlanThreads(row, units, limits, plan);
  if (bytes == 0) return;
  cw_cuda_grid& grid = plan->grids[0];
  u64 threads = (u64)grid.blocks[0] * grid.threads;
  const u64 allowed = Min(units, Min(threads, limits->scratch_bytes / bytes));
  threads = allowed == 0 ? 1 : allowed;
  grid.threads = (u32)Min(threads, 32);
  grid.blocks[0] = (u32)(threads / grid.threads);
  grid.argument = bytes;
  plan->scratch_bytes = bytes * grid.blocks[0] * grid.threads;
}

// CW_PREPARE of kernel.h.
inline void PlanOneThread(const cw_cuda_row* row, const cw_launch*, u64, const cw_cuda_limits*,
                          cw_cuda_plan* plan) {
  OneGrid(plan, GridOf(row->module, row->prepare_function, 1, 1));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_UNITS_H_
