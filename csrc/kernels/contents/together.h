// Checks of elements together: permutations, coprime moduli, distinct elements, ascending starts,
// the head of a transcript.
#ifndef CLOAKWORK_KERNELS_CONTENTS_TOGETHER_H_
#define CLOAKWORK_KERNELS_CONTENTS_TOGETHER_H_

#include "kernels/contents/status.h"

namespace cw {
namespace {

CW_INLINE u64 WordsOfBits(u64 bits) { return (bits + 63) / 64; }

// Places in a table of distinct elements: a power of two, at least twice their number.
CW_INLINE u64 DistinctPlaces(u64 elements) {
  u64 places = 2;
  while (places < 2 * elements) places *= 2;
  return places;
}

// Elements of a launch whose last dimension runs over the words of one.
CW_INLINE u64 WholeElements(const cw_launch& launch) {
  u64 count = 1;
  for (u32 axis = 0; axis + 1 < launch.rank; ++axis) count *= Dim(launch, axis);
  return count;
}

// Rows along the last dimension hold each number below params[0] at most once, and no others.
template <class V, class In, class Out>
void CheckPermutation(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const u32 last = launch.rank - 1;
  const u64 length = Dim(launch, last);
  const u64 bound = (u64)launch.params[0];
  const i64 step = Strides(launch, 1)[last];
  u64* seen = static_cast<u64*>(scratch);
  ForEachUnit<In>(launch, begin, end, [&](u64 unit, const In* row) {
    memset(seen, 0, WordsOfBits(bound) * sizeof(u64));
    for (u64 i = 0; i < length; ++i) {
      const u64 index = (u64)(i64)row[(i64)i * step];
      const u64 bit = (u64)1 << (index % 64);
      if (index >= bound || (seen[index / 64] & bit) != 0) {
        Report(launch, 1 + unit * length + i);
        return false;
      }
      seen[index / 64] |= bit;
    }
    return true;
  });
}

CW_INLINE u64 Magnitude(i64 number) { return number < 0 ? 0 - (u64)number : (u64)number; }

// No two share a factor. Status: 1 + i 2^32 + j of the first pair i < j that does.
template <class V, class In, class Out>
void CheckCoprime(const cw_launch& launch, u64 begin, u64 end, void*) {
  const In* data = Data<const In>(launch, 1);
  const u64 count = Elements(launch);
  const auto element = [&](u64 at) {
    return Magnitude(data[OffsetAt(at, launch.rank, launch.dims, Strides(launch, 1))]);
  };
  for (u64 i = begin; i < end; ++i) {
    for (u64 j = i + 1; j < count; ++j) {
      u64 a = element(i), b = element(j);
      while (b != 0) {
        const u64 rest = a % b;
        a = b;
        b = rest;
      }
      if (a != 1) {
        Report(launch, 1 + (i << 32 | j));
        return;
      }
    }
  }
}

// The last dimension runs over the words of an element; one unit. No two elements are equal.
// Status: 1 + j 2^32 + i of the first j that equals an i before it.
template <class V, class In, class Out>
void CheckDistinct(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  if (begin >= end) return;
  const u32 last = launch.rank - 1;
  const u64 words = Dim(launch, last);
  const i64 step = Strides(launch, 1)[last];
  const u64 places = DistinctPlaces(WholeElements(launch));
  const In* data = Data<const In>(launch, 1);
  u64* table = static_cast<u64*>(scratch);  // 1 + an element's index; 0 where there is none
  memset(table, 0, places * sizeof(u64));
  const auto at = [&](u64 index) {
    return data + OffsetAt(index, last, launch.dims, Strides(launch, 1));
  };
  ForEachUnit<In>(launch, 0, WholeElements(launch), [&](u64 index, const In* element) {
    u64 hash = 0;
    for (u64 i = 0; i < words; ++i) {
      hash = (hash ^ element[(i64)i * step]) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    u64 place = hash & (places - 1);
    for (; table[place] != 0; place = (place + 1) & (places - 1)) {
      const In* other = at(table[place] - 1);
      u64 same = 0;
      while (same < words && other[(i64)same * step] == element[(i64)same * step]) ++same;
      if (same == words) {
        Report(launch, 1 + (index << 32 | (table[place] - 1)));
        return false;
      }
    }
    table[place] = 1 + index;
    return true;
  });
}

// Ascending from 0 to params[0]. Status: 1 the first is not 0, 2 the last is not params[0], else
// 3 + the index of the first with a smaller one after it.
template <class V, class In, class Out>
void CheckStarts(const cw_launch& launch, u64 begin, u64 end, void*) {
  const In* data = Data<const In>(launch, 1);
  const u64 count = Elements(launch);
  const auto element = [&](u64 at) {
    return data[OffsetAt(at, launch.rank, launch.dims, Strides(launch, 1))];
  };
  if (begin >= end) return;
  if (begin == 0 && element(0) != 0) Report(launch, 1);
  if (end == count && element(count - 1) != launch.params[0]) Report(launch, 2);
  In before = element(begin);
  for (u64 i = begin; i < end && i + 1 < count; ++i) {
    const In next = element(i + 1);
    if (before > next) {
      Report(launch, 3 + i);
      return;
    }
    before = next;
  }
}

// Bytes of the log and of the proof of a transcript, as its head says: two words of bytes, the
// lowest first; one unit. params: a limit, and 1 where the proof is as long, 0 where neither is
// longer.
template <class V, class In, class Out>
void CheckTranscript(const cw_launch& launch, u64 begin, u64 end, void*) {
  if (begin >= end) return;
  const In* data = Data<const In>(launch, 1);
  const i64 step = Strides(launch, 1)[0];
  const auto word = [&](u64 from) {
    u64 value = 0;
    for (u64 i = 8; i-- > 0;) value = value << 8 | data[(i64)(from + i) * step];
    return value;
  };
  const i64 limit = launch.params[0];
  const u64 log = word(0), proof = word(8);
  const u64 longest = log < proof ? proof : log;
  const bool holds = launch.params[1] != 0 ? proof == (u64)limit : longest <= (u64)limit;
  if (limit < 0 || !holds) Report(launch, 1);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CONTENTS_TOGETHER_H_
