// In place of csrc/kernels/field/blocks.h for a thread of a GPU: a core gets one element.
#ifndef CLOAKWORK_KERNELS_FIELD_BLOCKS_H_
#define CLOAKWORK_KERNELS_FIELD_BLOCKS_H_

#include "kernels/field/elements.h"
#include "kernels/rows.h"

namespace cw {
namespace {

constexpr u64 kGathered = 1;
constexpr u64 kBatch = 1;

template <class In, class Out, class Core>
CW_INLINE void ForEachIn(const cw_launch& launch, u64 begin, u64 end, Core&& core) {
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  ForEachBlock(rows, begin, end, [&](u64, u64) {
    core(Data<Out>(launch, 0) + rows.offset[0], Data<const In>(launch, 1) + rows.offset[1], 1);
  });
}

template <class A, class B, class Out, class Core>
CW_INLINE void ForEachPair(const cw_launch& launch, u64 begin, u64 end, Core&& core) {
  Rows<3> rows(launch.rank, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  ForEachBlock(rows, begin, end, [&](u64, u64) {
    core(Data<Out>(launch, 0) + rows.offset[0], Data<const A>(launch, 1) + rows.offset[1],
         Data<const B>(launch, 2) + rows.offset[2], 1);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_BLOCKS_H_
