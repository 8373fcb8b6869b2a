// Moving elements of more than 16 bytes.
#ifndef CLOAKWORK_KERNELS_FIELD_MOVES_H_
#define CLOAKWORK_KERNELS_FIELD_MOVES_H_

#include "kernels/field/blocks.h"
#include "kernels/layout/copy.h"
#include "kernels/layout/gather.h"
#include "kernels/sorting/scatter.h"

namespace cw {
namespace {

// Operand: out. params: the value's first two words; the others are 0.
template <class V, class In, class Out>
void FillWide(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<1> rows(launch.rank, launch.dims, {Strides(launch, 0)});
  Out value = {};
  memcpy(&value, launch.params, 2 * sizeof(u64));
  ForEachBlockOf(kGathered, rows, begin, end, [&](u64 position, u64 count) {
    Out buffer[kGathered];
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    for (u64 i = 0; i < count; ++i) out[i] = value;
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

// Operands: out, a, b, condition.
template <class V, class In, class Out>
void WhereWide(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<4> rows(launch.rank, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2), Strides(launch, 3)});
  Out out_buffer[kGathered], a_buffer[kGathered], b_buffer[kGathered];
  Bool condition_buffer[kGathered];
  ForEachBlockOf(kGathered, rows, begin, end, [&](u64 position, u64 count) {
    const Out* a = FetchBlock(rows, 1, Data<const Out>(launch, 1), position, count, a_buffer);
    const Out* b = FetchBlock(rows, 2, Data<const Out>(launch, 2), position, count, b_buffer);
    const Bool* condition =
        FetchBlock(rows, 3, Data<const Bool>(launch, 3), position, count, condition_buffer);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, out_buffer);
    for (u64 i = 0; i < count; ++i) out[i] = condition[i].bit != 0 ? a[i] : b[i];
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_MOVES_H_
