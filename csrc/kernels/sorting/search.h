// searchsorted: positions of values in a sorted line. NaN is last.
#ifndef CLOAKWORK_KERNELS_SORTING_SEARCH_H_
#define CLOAKWORK_KERNELS_SORTING_SEARCH_H_

#include "kernels/rows.h"

namespace cw {
namespace {

template <class T>
CW_INLINE bool IsBefore(T a, T b) {
  return (a < b) | ((b != b) & (a == a));
}

// Operands: out, values, sorted. params: sorted's size, its stride, whether values come after equal
// ones in it. A block's searches advance together: their loads do not wait for each other.
template <class V, class In, class Out>
void SearchSorted(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u64 size = (u64)launch.params[0];
  const i64 stride = launch.params[1];
  const bool right = launch.params[2] != 0;
  const In* sorted = Data<const In>(launch, 2);
  const auto is_passed = [=](u64 place, In x) -> u64 {
    const In own = sorted[(i64)place * stride];
    return right ? !IsBefore(x, own) : IsBefore(own, x);
  };
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  In value_buffer[kBlock];
  i64 places[kBlock];
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    const In* data = Data<const In>(launch, 1);
    const In* values = FetchBlock(rows, 1, data, position, count, value_buffer);
    for (u64 i = 0; i < count; ++i) places[i] = 0;
    u64 length = size;
    for (; length > 1; length -= length / 2) {
      const u64 half = length / 2;
      for (u64 i = 0; i < count; ++i) {
        places[i] += (i64)(is_passed((u64)places[i] + half - 1, values[i]) * half);
      }
    }
    for (u64 i = 0; i < count && length != 0; ++i) {
      places[i] += (i64)is_passed((u64)places[i], values[i]);
    }
    i64* out = OpenBlock(rows, 0, Data<i64>(launch, 0), position, places);
    if (out != places) memcpy(out, places, count * sizeof(i64));
    FlushBlock(rows, 0, Data<i64>(launch, 0), position, count, places);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SORTING_SEARCH_H_
