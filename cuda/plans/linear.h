// Grids of matrix products: a thread for each element of the results.
#ifndef CLOAKWORK_CUDA_PLANS_LINEAR_H_
#define CLOAKWORK_CUDA_PLANS_LINEAR_H_

#include "cuda/plans/units.h"
#include "kernels/linear/matmul_shape.h"

namespace cw {
namespace {

// Kernels count elements, not the launch's units: `argument` is their number.
inline void PlanElements(const cw_cuda_row* row, u64 elements, const cw_cuda_limits* limits,
                         cw_cuda_plan* plan) {
  PlanThreads(row, elements, limits, plan);
  plan->grids[0].argument = elements;
}

inline u64 Batches(const cw_launch* launch, u32 inner) {
  u64 batches = 1;
  for (u32 axis = 0; axis + inner < launch->rank; ++axis) batches *= Dim(*launch, axis);
  return batches;
}

inline void PlanMatmulPack(const cw_cuda_row* row, const cw_launch* launch, u64,
                           const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const MatmulShape shape(launch->params);
  const u64 elements = shape.depth * PackedColumns(shape.columns) * Batches(launch, 3);
  PlanElements(row, elements, limits, plan);
}

inline void PlanMatmul(const cw_cuda_row* row, const cw_launch* launch, u64,
                       const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const MatmulShape shape(launch->params);
  PlanElements(row, shape.rows * shape.columns * Batches(launch, 3), limits, plan);
}

inline void PlanMatvec(const cw_cuda_row* row, const cw_launch* launch, u64,
                       const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  const MatvecShape shape(launch->params);
  PlanElements(row, shape.rows * Batches(launch, 2), limits, plan);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_LINEAR_H_
