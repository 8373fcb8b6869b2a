// gather: elements of a at indices along one axis.
#ifndef CLOAKWORK_KERNELS_LAYOUT_GATHER_H_
#define CLOAKWORK_KERNELS_LAYOUT_GATHER_H_

#include "kernels/rows.h"

namespace cw {
namespace {

// out[i] = a[index], the index from the end where it is negative.
template <class T>
CW_INLINE void Pick(T* out, const T* a, const i64* indices, u64 count, i64 stride, i64 size) {
  if (stride == 1) {
    for (u64 i = 0; i < count; ++i) out[i] = a[indices[i] + (indices[i] < 0 ? size : 0)];
    return;
  }
  for (u64 i = 0; i < count; ++i) out[i] = a[(indices[i] + (indices[i] < 0 ? size : 0)) * stride];
}

// Operands: out, a (stride 0 along the gathered axis), indices.
// params: a's stride along that axis, its size. Indices in -size .. size.
template <class V, class In, class Out>
void Gather(const cw_launch& launch, u64 begin, u64 end, void*) {
  const i64 stride = launch.params[0];
  const i64 size = launch.params[1];
  Rows<3> rows(launch.rank, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  const Out* data = Data<const Out>(launch, 1);
  Out out_buffer[kBlock];
  i64 index_buffer[kBlock], offsets[kBlock];
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    const i64* list = Data<const i64>(launch, 2);
    const i64* indices = FetchBlock(rows, 2, list, position, count, index_buffer);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, out_buffer);
    const bool one_index = rows.stepped[2] && rows.step[2] == 0;
    if (one_index && rows.stepped[1] && rows.step[1] == 1) {
      const i64 index = indices[0] < 0 ? indices[0] + size : indices[0];
      const Out* first = data + rows.offset[1] + index * stride + (i64)position;
      memcpy(out, first, count * sizeof(Out));
    } else if (rows.stepped[1] && rows.step[1] == 0) {
      Pick(out, data + rows.offset[1], indices, count, stride, size);
    } else {
      rows.ListOffsets(1, position, count, offsets);
      for (u64 i = 0; i < count; ++i) {
        const i64 index = indices[i] < 0 ? indices[i] + size : indices[i];
        out[i] = data[offsets[i] + index * stride];
      }
    }
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LAYOUT_GATHER_H_
