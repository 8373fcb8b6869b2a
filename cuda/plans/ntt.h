// Grids of ntt and intt. A transform of n = 2^b points has b stages, the first over the whole row.
//
// A row that fits into shared memory is one block. Of a longer one the first stages are done by
// threads that hold 2^kColumnStages points each, a column of the row; then the row is parts that
// fit. Inverse transforms do the same backwards.
#ifndef CLOAKWORK_CUDA_PLANS_NTT_H_
#define CLOAKWORK_CUDA_PLANS_NTT_H_

#include "cuda/plans/units.h"
#include "cuda/text.h"

namespace cw {
namespace {

constexpr u64 kColumnStages = 4;
// Points of a part of a row that is longer: of several blocks on a multiprocessor.
constexpr u64 kPartPoints = 4096;
// Points of a row that is one block, if it fits.
constexpr u64 kWholePoints = 8192;
constexpr u64 kStagesInRegisters = 3;
constexpr u64 kMostThreads = 512;

// Words of shared memory: one more for each 16 points, which keeps threads in different banks.
constexpr u64 PartWords(u64 points) { return points + points / 16 + 1; }

// A part begins after `stages` stages; a column pass begins at stage `stages` and does `count`.
// argument: stages + 64 count.
constexpr u64 NttArgument(u64 stages, u64 count) { return stages + 64 * count; }

constexpr u64 kColumnThreads = 128;

// The functions of a row beside `function`, alone and of many.
struct NttFunctions {
  const char *function, *columns[2], *reorder[2];
};
#define CW_NTT_FUNCTIONS(name)                                        \
  {"cw_" name "_cuda",                                                \
   {"cw_" name "_columns_cuda", "cw_" name "_columns_cuda_many"},     \
   {"cw_" name "_reorder_cuda", "cw_" name "_reorder_cuda_many"}}
constexpr NttFunctions kNttFunctions[] = {
    CW_NTT_FUNCTIONS("ntt_i8_i32"), CW_NTT_FUNCTIONS("ntt_i8_i64"), CW_NTT_FUNCTIONS("ntt_i32"),
    CW_NTT_FUNCTIONS("ntt_i64"),    CW_NTT_FUNCTIONS("intt_i32"),   CW_NTT_FUNCTIONS("intt_i64"),
};
#undef CW_NTT_FUNCTIONS

inline const NttFunctions& NttFunctionsOf(const cw_cuda_row* row) {
  const NttFunctions* found = kNttFunctions;
  while (!IsSameText(found->function, row->function)) ++found;
  return *found;
}

struct NttPlan {
  u64 size;
  u64 stages;  // done in columns

  explicit NttPlan(const cw_launch* launch) : size(Dim(*launch, 3)), stages(0) {
    const u64 whole = kWholePoints;
    while (size >> stages > (stages == 0 ? whole : kPartPoints)) {
      stages += Next(stages);
    }
  }
  // Stages of the column pass that begins at a stage.
  u64 Next(u64 stage) const {
    u64 left = 0;
    while (size >> (stage + left) > kPartPoints) ++left;
    return Min(left, kColumnStages);
  }
};

inline cw_cuda_grid NttParts(const cw_cuda_row* row, u64 units, const NttPlan& own) {
  const u64 points = own.size >> own.stages;
  u64 threads = Min(CeilDiv(points, 1 << kStagesInRegisters), kMostThreads);
  threads = (threads + 31) / 32 * 32;
  return GridOfRow(row, units << own.stages, threads, NttArgument(own.stages, 0),
                   PartWords(points) * sizeof(u64));
}

inline cw_cuda_grid NttColumns(const cw_cuda_row* row, u64 units, const NttPlan& own, u64 stage) {
  const u64 count = own.Next(stage);
  const u64 threads = (units * own.size) >> count;
  const auto& [alone, many] = NttFunctionsOf(row).columns;
  cw_cuda_grid grid = GridOf(row->module, alone, CeilDiv(threads, kColumnThreads), kColumnThreads,
                             NttArgument(stage, count));
  grid.many = many;
  return grid;
}

// Words between passes: in the result, or in scratch memory where it cannot hold them.
inline u64 NttScratch(const cw_launch* launch, u64 units, const NttPlan& own, bool narrow) {
  const bool held = !narrow && launch->data[4] == nullptr;
  return own.stages == 0 || held ? 0 : units * own.size * sizeof(u64);
}

inline void PlanNtt(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                    const cw_cuda_limits*, cw_cuda_plan* plan) {
  const NttPlan own(launch);
  plan->count = 0;
  plan->scratch_bytes = NttScratch(launch, units, own, row->row.out_dtype == CW_I32);
  for (u64 stage = 0; stage < own.stages; stage += own.Next(stage)) {
    plan->grids[plan->count++] = NttColumns(row, units, own, stage);
  }
  plan->grids[plan->count++] = NttParts(row, units, own);
  if (own.stages == 0 || launch->data[4] == nullptr) return;
  const u64 blocks = CeilDiv(units * own.size, 4 * kColumnThreads);
  const auto& [alone, many] = NttFunctionsOf(row).reorder;
  cw_cuda_grid& grid = plan->grids[plan->count++];
  grid = GridOf(row->module, alone, blocks, kColumnThreads);
  grid.many = many;
}

inline void PlanIntt(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                     const cw_cuda_limits*, cw_cuda_plan* plan) {
  const NttPlan own(launch);
  plan->scratch_bytes = NttScratch(launch, units, own, row->row.out_dtype == CW_I32);
  plan->grids[0] = NttParts(row, units, own);
  plan->count = 1;
  u64 stages[CW_CUDA_GRIDS], count = 0;
  for (u64 stage = 0; stage < own.stages; stage += own.Next(stage)) stages[count++] = stage;
  while (count-- > 0) {
    plan->grids[plan->count++] = NttColumns(row, units, own, stages[count]);
  }
}

// One block makes the constants of a limb.
inline void PlanNttLimb(const cw_cuda_row* row, const cw_launch*, u64, const cw_cuda_limits*,
                        cw_cuda_plan* plan) {
  OneGrid(plan, GridOf(row->module, row->prepare_function, 1, kMostThreads));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_NTT_H_
