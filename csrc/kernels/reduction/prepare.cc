// Sizes of scratch memory for reductions.
#include "kernels/reduction/derived.h"
#include "kernels/reduction/plan.h"

extern "C" {
uint64_t cw_reduction_scratch_8(const cw_launch* launch) {
  return cw::ReductionPlan(*launch).ColumnBytes(8);
}

uint64_t cw_reduction_scratch_16(const cw_launch* launch) {
  return cw::ReductionPlan(*launch).ColumnBytes(16);
}
}
