// scatter: values written at indices along one axis.
#ifndef CLOAKWORK_KERNELS_SORTING_SCATTER_H_
#define CLOAKWORK_KERNELS_SORTING_SCATTER_H_

#include "kernels/rows.h"

namespace cw {
namespace {

// Operands: out (stride 0 along k), values, indices over rest..., k.
// params: out's stride along the indexed axis, its size. Indices in -size .. size.
template <class V, class In, class Out>
void Scatter(const cw_launch& launch, u64 begin, u64 end, void*) {
  const i64 stride = launch.params[0], size = launch.params[1];
  const u32 last = launch.rank - 1;
  const i64 value_step = Strides(launch, 1)[last], index_step = Strides(launch, 2)[last];
  Rows<3> rows(last, launch.dims, {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  const bool together = rows.stepped[0] && rows.step[0] == 1 && rows.stepped[1] &&
                        rows.step[1] == 1 && rows.stepped[2] && rows.step[2] == 0;
  i64 at[3][kBlock];
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    const u64 units = together ? 1 : count, run = together ? count : 1;
    for (int operand = 0; operand < 3; ++operand) {
      rows.ListOffsets(operand, position, units, at[operand]);
    }
    for (u64 unit = 0; unit < units; ++unit) {
      Out* out = Data<Out>(launch, 0) + at[0][unit];
      const Out* values = Data<const Out>(launch, 1) + at[1][unit];
      const i64* indices = Data<const i64>(launch, 2) + at[2][unit];
      for (u64 k = 0; k < Dim(launch, last); ++k) {
        const i64 index = indices[(i64)k * index_step];
        Out* to = out + (index < 0 ? index + size : index) * stride;
        const Out* from = values + (i64)k * value_step;
        if (run == 1) {
          *to = *from;
        } else {
          memcpy(to, from, run * sizeof(Out));
        }
      }
    }
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SORTING_SCATTER_H_
