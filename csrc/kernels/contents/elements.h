// Checks of elements one by one: ranges, zeros, numbers below a prime.
#ifndef CLOAKWORK_KERNELS_CONTENTS_ELEMENTS_H_
#define CLOAKWORK_KERNELS_CONTENTS_ELEMENTS_H_

#include "kernels/contents/status.h"

namespace cw {
namespace {

CW_INLINE u64 WordOf(int32_t element) { return (u64)(i64)element; }
CW_INLINE u64 WordOf(i64 element) { return (u64)element; }
CW_INLINE u64 WordOf(Bool element) { return element.bit; }

// params: the least valid word and how many are valid; they may wrap around.
template <class V, class In, class Out>
void CheckRange(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u64 least = (u64)launch.params[0];
  const u64 count = (u64)launch.params[1];
  ReportFirst<In>(launch, begin, end,
                  [=](In element) { return WordOf(element) - least >= count; });
}

// Rows of a table, as lookup_rows finds them: -1 - i says that the table lacks row i of the input.
// params: rows of the table. Status: 1 + the first such i, else 2^63 + 1 + the index of the first
// row that is beyond the table.
template <class V, class In, class Out>
void CheckLookupRows(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u64 bound = (u64)launch.params[0];
  constexpr u64 kBeyond = (u64)1 << 63;
  Rows<1> rows(launch.rank, launch.dims, {Strides(launch, 1)});
  const In* data = Data<const In>(launch, 1);
  In buffer[kBlock];
  u64 at = begin;
  u64 least = UINT64_MAX;
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    const In* block = FetchBlock(rows, 0, data, position, count, buffer);
    u64 invalid = 0;
    for (u64 i = 0; i < count; ++i) invalid |= (u64)block[i] >= bound ? 1 : 0;
    for (u64 i = 0; invalid != 0 && i < count; ++i) {
      const u64 row = (u64)block[i];
      if (row < bound) continue;
      // A lacking row is negative, so that its status is below 2^63 or equal to it.
      least = Min(least, block[i] < 0 ? 0 - row : kBeyond + 1 + at + i);
    }
    at += count;
  });
  if (least != UINT64_MAX) Report(launch, least);
}

// The last dimension runs over the words of an element. No element is all zeros.
template <class V, class In, class Out>
void CheckNonzero(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u32 last = launch.rank - 1;
  const u64 words = Dim(launch, last);
  const i64 step = Strides(launch, 1)[last];
  ForEachUnit<In>(launch, begin, end, [&](u64 unit, const In* element) {
    In all = 0;
    for (u64 i = 0; i < words; ++i) all |= element[(i64)i * step];
    if (all == 0) Report(launch, 1 + unit);
    return all != 0;
  });
}

// The last dimension runs over the words of an element's numbers, the lowest first.
// params: words of a number, and those of the prime that all numbers are below.
template <class V, class In, class Out>
void CheckBelowPrime(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u32 last = launch.rank - 1;
  const u64 all = Dim(launch, last);
  const u64 words = (u64)launch.params[0];
  const i64* prime = launch.params + 1;
  const i64 step = Strides(launch, 1)[last];
  ForEachUnit<In>(launch, begin, end, [&](u64 unit, const In* element) {
    for (u64 first = 0; first < all; first += words) {
      u64 at = words - 1;
      while (at != 0 && element[(i64)(first + at) * step] == (u64)prime[at]) --at;
      if (element[(i64)(first + at) * step] >= (u64)prime[at]) {
        Report(launch, 1 + unit);
        return false;
      }
    }
    return true;
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CONTENTS_ELEMENTS_H_
