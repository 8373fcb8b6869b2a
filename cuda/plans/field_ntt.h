// Grids of field_ntt_columns and field_ntt_rows: a block transforms one column or row in shared
// memory. Longer ones than fit there are left to one thread a unit.
#ifndef CLOAKWORK_CUDA_PLANS_FIELD_NTT_H_
#define CLOAKWORK_CUDA_PLANS_FIELD_NTT_H_

#include "cuda/plans/units.h"
#include "cuda/text.h"
#include "kernels/poly/ntt_tables.h"

namespace cw {
namespace {

constexpr u64 kFieldNttThreads = 256;
// Powers of a column's factor, of low and of high bits of an index, behind the elements.
constexpr u64 kFactorPowers = 64;

inline void PlanFieldNttOf(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                           const cw_cuda_limits* limits, cw_cuda_plan* plan, const char* symbol,
                           bool columns, u64 element_bytes, u64 lanes) {
  const NttShape shape(launch->params);
  const u64 length = columns ? shape.n1 : shape.n2;
  const u64 bytes = (length + kFactorPowers) * element_bytes;
  const u64 most_powers = (kFactorPowers / 2) * (kFactorPowers / 2);
  if (bytes > limits->shared_bytes || length > 4 * most_powers) {
    return PlanUnits(row, launch, units, limits, plan);
  }
  const u64 threads = Min(kFieldNttThreads, (length / 2 + 31) / 32 * 32 + (length < 2 ? 32 : 0));
  OneGrid(plan, GridOf("field_ntt", symbol, units * lanes, threads, 0, bytes));
}

inline void PlanFieldNtt(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                         const cw_cuda_limits* limits, cw_cuda_plan* plan) {
#define CW_FIELD_NTT(field, F)                                                                \
  if (IsSameText(row->function, "cw_field_ntt_columns_" #field "_cuda")) {                    \
    return PlanFieldNttOf(row, launch, units, limits, plan,                                   \
                          "cw_field_ntt_columns_" #field "_block_cuda", true, sizeof(F),      \
                          kColumns<F>);                                                       \
  }                                                                                           \
  if (IsSameText(row->function, "cw_field_ntt_rows_" #field "_cuda")) {                       \
    return PlanFieldNttOf(row, launch, units, limits, plan,                                   \
                          "cw_field_ntt_rows_" #field "_block_cuda", false, sizeof(F),        \
                          kColumns<F>);                                                       \
  }
  CW_EACH_LARGE_TRANSFORM(CW_FIELD_NTT)
  CW_EACH_SMALL_TRANSFORM(CW_FIELD_NTT)
#undef CW_FIELD_NTT
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_FIELD_NTT_H_
