// The status word of a check: operand 0 of its launch, 0 as long as all contents are valid.
#ifndef CLOAKWORK_KERNELS_CONTENTS_STATUS_H_
#define CLOAKWORK_KERNELS_CONTENTS_STATUS_H_

#include "kernels/rows.h"

namespace cw {
namespace {

// Of all that calls report the least stays, so that the word does not depend on how units were
// divided. found > 0.
CW_INLINE void Report(const cw_launch& launch, u64 found) {
  u64* status = Data<u64>(launch, 0);
  u64 known = __atomic_load_n(status, __ATOMIC_RELAXED);
  while ((known == 0 || found < known) &&
         !__atomic_compare_exchange_n(status, &known, found, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

// Reports 1 + the index of the first of units begin .. end at which an element is invalid:
// `is_invalid` says so of an element. All dimensions are units.
template <class T, class Invalid>
CW_INLINE void ReportFirst(const cw_launch& launch, u64 begin, u64 end, Invalid&& is_invalid) {
  Rows<1> rows(launch.rank, launch.dims, {Strides(launch, 1)});
  const T* data = Data<const T>(launch, 1);
  T buffer[kBlock];
  u64 at = begin;
  bool is_found = false;
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    if (is_found) return;
    const T* block = FetchBlock(rows, 0, data, position, count, buffer);
    u64 invalid = 0;
    for (u64 i = 0; i < count; ++i) invalid |= is_invalid(block[i]) ? 1 : 0;
    if (invalid != 0) {
      u64 first = 0;
      while (!is_invalid(block[first])) ++first;
      Report(launch, 1 + at + first);
      is_found = true;
    }
    at += count;
  });
}

// Calls body(unit, element) for units begin .. end of a launch whose last dimension lies inside a
// unit, with the first element of operand 1 in it, until body gives false.
template <class T, class Body>
CW_INLINE void ForEachUnit(const cw_launch& launch, u64 begin, u64 end, Body&& body) {
  Rows<1> rows(launch.rank - 1, launch.dims, {Strides(launch, 1)});
  const T* data = Data<const T>(launch, 1);
  i64 offsets[kBlock];
  u64 at = begin;
  bool goes_on = true;
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    if (!goes_on) return;
    rows.ListOffsets(0, position, count, offsets);
    for (u64 i = 0; goes_on && i < count; ++i) goes_on = body(at + i, data + offsets[i]);
    at += count;
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CONTENTS_STATUS_H_
