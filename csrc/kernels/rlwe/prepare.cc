// Constants that reduce 128-bit words.
#include "kernels/modular/axis_sum_plan.h"
#include "kernels/rlwe/derived.h"

using cw::i64;
using cw::u64;

extern "C" {
uint64_t cw_uniform_prepared_bytes(const cw_launch* launch) {
  i64 strides[cw::kMaxRank];
  return cw::ModulusStrides(*launch, 2, strides) * sizeof(cw::SumModulus);
}

void cw_uniform_prepare(const cw_launch* launch, void* prepared) {
  auto* list = static_cast<cw::SumModulus*>(prepared);
  cw::ForEachModulus<i64>(*launch, 2,
                          [&](u64 i, i64 word) { list[i] = cw::MakeSumModulus((u64)word); });
}
}
