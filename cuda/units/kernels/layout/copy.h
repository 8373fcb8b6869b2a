// In place of csrc/kernels/layout/copy.h for a thread of a GPU: one element.
#ifndef CLOAKWORK_KERNELS_LAYOUT_COPY_H_
#define CLOAKWORK_KERNELS_LAYOUT_COPY_H_

#include "kernels/rows.h"

namespace cw {
namespace {

template <class V, class In, class Out>
void Copy(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  ForEachBlock(rows, begin, end, [&](u64, u64) {
    Data<Out>(launch, 0)[rows.offset[0]] = Data<const Out>(launch, 1)[rows.offset[1]];
  });
}

template <class V, class In, class Out>
void Fill(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<1> rows(launch.rank, launch.dims, {Strides(launch, 0)});
  Out value;
  memcpy(&value, launch.params, sizeof value);  // little-endian: the low bytes
  ForEachBlock(rows, begin, end,
               [&](u64, u64) { Data<Out>(launch, 0)[rows.offset[0]] = value; });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LAYOUT_COPY_H_
