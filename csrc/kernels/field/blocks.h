// From a function on neighbouring elements to a kernel over any strides.
#ifndef CLOAKWORK_KERNELS_FIELD_BLOCKS_H_
#define CLOAKWORK_KERNELS_FIELD_BLOCKS_H_

#include "kernels/field/elements.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// Elements that a core gets at once if operands must be gathered; a batch of inverses takes as many
// as one inversion serves.
constexpr u64 kGathered = 64;
constexpr u64 kBatch = 1024;

template <int operands>
CW_INLINE bool IsDense(const Rows<operands>& rows) {
  for (int i = 0; i < operands; ++i) {
    if (!rows.stepped[i] || rows.step[i] != 1) return false;
  }
  return true;
}

// core(out, a, count) for neighbours. Operands: out, a. Rows of the same types share this code.
template <class In, class Out>
__attribute__((noinline)) void ForEachIn(const cw_launch& launch, u64 begin, u64 end,
                                         void (*core)(Out*, const In*, u64)) {
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  In a_buffer[kGathered];
  Out out_buffer[kGathered];
  const u64 size = IsDense(rows) ? kBatch : kGathered;
  ForEachBlockOf(size, rows, begin, end, [&](u64 position, u64 count) {
    const In* a = FetchBlock(rows, 1, Data<const In>(launch, 1), position, count, a_buffer);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, out_buffer);
    core(out, a, count);
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

// core(out, a, b, count) for neighbours. Operands: out, a, b.
template <class A, class B, class Out>
__attribute__((noinline)) void ForEachPair(const cw_launch& launch, u64 begin, u64 end,
                                           void (*core)(Out*, const A*, const B*, u64)) {
  Rows<3> rows(launch.rank, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  A a_buffer[kGathered];
  B b_buffer[kGathered];
  Out out_buffer[kGathered];
  const u64 size = IsDense(rows) ? kBatch : kGathered;
  ForEachBlockOf(size, rows, begin, end, [&](u64 position, u64 count) {
    const A* a = FetchBlock(rows, 1, Data<const A>(launch, 1), position, count, a_buffer);
    const B* b = FetchBlock(rows, 2, Data<const B>(launch, 2), position, count, b_buffer);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, out_buffer);
    core(out, a, b, count);
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_BLOCKS_H_
