// Constants that reduce 128-bit words, and index maps in groups.
#include "kernels/modular/sum_modulus.h"
#include "kernels/rlwe/derived.h"
#include "kernels/rlwe/index_plan.h"

using cw::i64;
using cw::u64;

namespace cw {
namespace {

// Whether each aligned group of 8 places comes from one such group.
bool IsGrouped(const i64* index, i64 step, u64 size) {
  if (size % kGroup != 0) return false;
  for (u64 n = 0; n < size; ++n) {
    const u64 first = (u64)index[(i64)(n / kGroup * kGroup) * step];
    if ((u64)index[(i64)n * step] / kGroup != first / kGroup) return false;
  }
  return true;
}

// Indices stay in range whatever the operand holds: another thread may write it during the call.
void PrepareIndex(const cw_launch& launch, IndexMap* map) {
  const u64 size = Dim(launch, launch.rank - 1), last = size - 1;
  const i64* index = Data<const i64>(launch, 2);
  const i64 step = Strides(launch, 2)[launch.rank - 1];
  map->grouped = IsGrouped(index, step, size);
  if (map->grouped == 0) {
    auto* places = const_cast<u32*>(map->Places());
    for (u64 n = 0; n < size; ++n) places[n] = (u32)Min((u64)index[(i64)n * step], last);
    return;
  }
  auto* orders = const_cast<u64*>(map->Orders());
  auto* groups = const_cast<u32*>(map->Groups(size));
  memset(orders, 0, size);
  for (u64 n = 0; n < size; ++n) {
    const u64 place = Min((u64)index[(i64)n * step], last);
    orders[n / kGroup] |= place % kGroup << n % kGroup * 8;
    groups[n / kGroup] = (u32)(place / kGroup);
  }
}

}  // namespace
}  // namespace cw

extern "C" {
uint64_t cw_uniform_prepared_bytes(const cw_launch* launch) {
  i64 strides[cw::kMaxRank];
  return cw::ModulusStrides(*launch, 2, strides) * sizeof(cw::SumModulus);
}

void cw_uniform_prepare(const cw_launch* launch, void* prepared) {
  auto* list = static_cast<cw::SumModulus*>(prepared);
  cw::ForEachModulus<i64>(*launch, 2, [&](u64 i, i64 word) {
    list[i] = cw::MakeSumModulus(cw::AnyModulus(word));
  });
}

uint64_t cw_index_prepared_bytes(const cw_launch* launch) {
  return cw::IndexMapBytes(cw::Dim(*launch, launch->rank - 1));
}

void cw_index_prepare(const cw_launch* launch, void* prepared) {
  cw::PrepareIndex(*launch, static_cast<cw::IndexMap*>(prepared));
}
}
