// Sorts records by unsigned keys, stably: by radix from the last digit, or by insertion if they are
// few.
#ifndef CLOAKWORK_KERNELS_SORTING_RADIX_H_
#define CLOAKWORK_KERNELS_SORTING_RADIX_H_

#include "kernels/common.h"

namespace cw {
namespace {

constexpr u64 kInsertion = 48;
constexpr u64 kDigits = 256;

template <class Key_>
struct Bare {
  using Key = Key_;
  Key key;
};

template <class Key_>
struct Indexed {
  using Key = Key_;
  Key key;
  Key index;
};

// Records of one unit of a launch over kept..., n, each array of them starting on a cache line.
CW_INLINE u64 SortCapacity(const cw_launch& launch) {
  return RoundUp(Dim(launch, launch.rank - 1));
}

// Whether indices of elements fit 32 bits.
CW_INLINE bool HasNarrowIndices(const cw_launch& launch) {
  return Dim(launch, launch.rank - 1) >> 32 == 0;
}

template <class Record>
inline void InsertionSort(Record* records, u64 count) {
  for (u64 i = 1; i < count; ++i) {
    const Record own = records[i];
    u64 at = i;
    for (; at != 0 && own.key < records[at - 1].key; --at) records[at] = records[at - 1];
    records[at] = own;
  }
}

// The sorted records, in one of the two arrays.
template <class Record>
__attribute__((noinline)) Record* RadixSort(Record* records, Record* spare, u64 count) {
  if (count <= kInsertion) {
    InsertionSort(records, count);
    return records;
  }
  constexpr u32 passes = sizeof(typename Record::Key);
  u64 counts[passes][kDigits] = {};
  for (u64 i = 0; i < count; ++i) {
    const u64 key = records[i].key;
    for (u32 pass = 0; pass < passes; ++pass) ++counts[pass][key >> 8 * pass & (kDigits - 1)];
  }
  for (u32 pass = 0; pass < passes; ++pass) {
    u64* places = counts[pass];
    if (places[(u64)records[0].key >> 8 * pass & (kDigits - 1)] == count) continue;
    u64 place = 0;
    for (u64 digit = 0; digit < kDigits; ++digit) {
      const u64 own = places[digit];
      places[digit] = place;
      place += own;
    }
    for (u64 i = 0; i < count; ++i) {
      const Record own = records[i];
      spare[places[(u64)own.key >> 8 * pass & (kDigits - 1)]++] = own;
    }
    Record* sorted = spare;
    spare = records;
    records = sorted;
  }
  return records;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SORTING_RADIX_H_
