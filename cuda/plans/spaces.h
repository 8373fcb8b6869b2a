// Grids of kernels/spaces.cuh.
#ifndef CLOAKWORK_CUDA_PLANS_SPACES_H_
#define CLOAKWORK_CUDA_PLANS_SPACES_H_

#include "cuda/plans/units.h"

namespace cw {
namespace {

// Rows from this length on have threads of their own.
constexpr u64 kLongRow = 32;
// Elements that a thread takes of a row, of large spaces: they share the row's offsets.
constexpr u64 kRowElements = 4;
constexpr u64 kMostRows = 65535;  // of gridDim.y

// `argument` is 1 for a grid by rows. The space is the first `rank` axes.
inline void PlanSpace(const cw_cuda_row* row, const cw_launch* launch, u32 rank, u64 places,
                      const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  PlanThreads(row, places, limits, plan);
  const u64 length = rank == 0 ? 1 : Dim(*launch, rank - 1);
  if (length < kLongRow) return;
  const u64 threads = length < 256 * kRowElements ? 64 : 256;
  const u64 rows = Min(places / length, kMostRows);
  // A grid that would leave multiprocessors without work takes one element a thread.
  const u64 few = 4 * (u64)limits->multiprocessors;
  const u64 each = rows * CeilDiv(length, threads * kRowElements) < few ? 1 : kRowElements;
  cw_cuda_grid grid = GridOfRow(row, CeilDiv(length, threads * each), threads, 1);
  grid.blocks[1] = (u32)rows;
  OneGrid(plan, grid);
}

// All axes are units.
inline void PlanElementwise(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                            const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  PlanSpace(row, launch, launch->rank, units, limits, plan);
}

// All axes but the last are units.
inline void PlanOuter(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                      const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  PlanSpace(row, launch, launch->rank - 1, units, limits, plan);
}

// All axes but the last two are units, and each thread keeps a word of shared memory for each
// index of the first of these.
inline void PlanBaseConvert(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                            const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  PlanSpace(row, launch, launch->rank - 2, units, limits, plan);
  cw_cuda_grid& grid = plan->grids[0];
  const u64 words = Dim(*launch, launch->rank - 2) * sizeof(u64);
  while (grid.threads > 32 && grid.threads * words > limits->shared_bytes / 4) grid.threads /= 2;
  while (grid.threads > 1 && grid.threads * words > limits->shared_bytes) grid.threads /= 2;
  grid.shared_bytes = (u32)(grid.threads * words);
}

// A prepare that makes one record a thread.
inline void PlanRecords(const cw_cuda_row* row, const cw_launch* launch, u64,
                        const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const u64 records = row->row.prepared_bytes(launch) / 32;
  PlanThreads(row, records, limits, plan);
  plan->grids[0].symbol = row->prepare_function;
  plan->grids[0].many = nullptr;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_SPACES_H_
