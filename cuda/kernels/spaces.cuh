// Walks a strided space with neighbouring threads on neighbours of its last axis.
#ifndef CLOAKWORK_CUDA_KERNELS_SPACES_CUH_
#define CLOAKWORK_CUDA_KERNELS_SPACES_CUH_

#include "cuda/kernels/kernel.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// Calls body(offsets) for the elements of a space: offsets[i] is that of operand i.
//
// With `by_rows` grid.y counts rows of the last axis: offsets of a row are computed once, and
// serve all elements of it that a thread takes. Else threads count all elements: for short rows.
template <int operands, class Body>
CW_INLINE void ForEachPlace(const Grid& grid, u32 rank, const i64* dims,
                            const i64* const (&strides)[operands], u64 places, bool by_rows,
                            Body&& body) {
  i64 at[operands];
  if (!by_rows) {
    for (u64 place = ThreadIndex(grid); place < places; place += ThreadCount(grid)) {
      for (int i = 0; i < operands; ++i) at[i] = 0;
      u64 rest = place;
      for (u32 axis = rank; axis-- > 0 && rest != 0;) {
        const i64 index = axis == 0 ? (i64)rest : (i64)TakeIndex(rest, (u64)dims[axis]);
        for (int i = 0; i < operands; ++i) at[i] += index * strides[i][axis];
      }
      body(at);
    }
    return;
  }
  const u32 last = rank - 1;
  const u64 length = (u64)dims[last], rows = places / length;
  i64 step[operands];
  for (int i = 0; i < operands; ++i) step[i] = strides[i][last];
  for (u64 row = grid.y; row < rows; row += grid.rows) {
    i64 first[operands] = {};
    u64 rest = row;
    for (u32 axis = last; axis-- > 0 && rest != 0;) {
      const i64 index = axis == 0 ? (i64)rest : (i64)TakeIndex(rest, (u64)dims[axis]);
      for (int i = 0; i < operands; ++i) first[i] += index * strides[i][axis];
    }
    for (u64 place = ThreadIndex(grid); place < length; place += ThreadCount(grid)) {
      for (int i = 0; i < operands; ++i) at[i] = first[i] + (i64)place * step[i];
      body(at);
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_KERNELS_SPACES_CUH_
