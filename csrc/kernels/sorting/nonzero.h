// nonzero: the indices of all elements that are true, in order.
#ifndef CLOAKWORK_KERNELS_SORTING_NONZERO_H_
#define CLOAKWORK_KERNELS_SORTING_NONZERO_H_

#include "kernels/odometer.h"
#include "kernels/rows.h"
#include "kernels/truth.h"

namespace cw {
namespace {

// The result, and the position of the next row.
struct IndexRows {
  i64* next;
  i64 row_stride, column_stride;
  u64 left;  // rows that still fit

  // One row for each place on the last axis; `outer` has the index on those before it.
  CW_INLINE void Append(const Odometer& outer, const i64* places, u64 count) {
    for (u32 axis = 0; axis < outer.rank; ++axis) {
      i64* column = next + (i64)axis * column_stride;
      for (u64 i = 0; i < count; ++i) column[(i64)i * row_stride] = outer.index[axis];
    }
    i64* column = next + (i64)outer.rank * column_stride;
    for (u64 i = 0; i < count; ++i) column[(i64)i * row_stride] = places[i];
    next += (i64)count * row_stride;
    left -= count;
  }
};

template <class In>
void FindTrue(const cw_launch& launch) {
  const u32 last = launch.rank - 1;
  const u64 length = Dim(launch, last);
  const i64 step = Strides(launch, 1)[last];
  IndexRows out = {Data<i64>(launch, 0), launch.params[0], launch.params[1],
                   (u64)launch.params[2]};
  Odometer outer(last, launch.dims, Strides(launch, 1));
  i64 places[kBlock];
  const u64 lines = Elements(launch) / (length == 0 ? 1 : length);
  for (u64 line = 0; line < lines && out.left != 0; ++line) {
    const In* a = Data<const In>(launch, 1) + outer.offset;
    for (u64 start = 0; start < length; start += kBlock) {
      const u64 stop = Min(length, start + kBlock);
      u64 found = 0;
      for (u64 i = start; i < stop; ++i) {
        places[found] = (i64)i;
        found += IsTrue(a[(i64)i * step]);
      }
      found = Min(found, out.left);
      if (found != 0) out.Append(outer, places, found);
    }
    outer.Next();
  }
}

// Operands: out [count, rank], a; one unit. params: out's strides of a row and of a column, and its
// rows: further rows are left out.
template <class V, class In, class Out>
void Nonzero(const cw_launch& launch, u64 begin, u64 end, void*) {
  if (begin < end && launch.rank != 0) FindTrue<typename Unsigned<In>::Type>(launch);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SORTING_NONZERO_H_
