// Lookup arguments as in halo2: rows in the order of their canonical numbers, and the matching rows
// of the table beside them. The time depends on the values.
#ifndef CLOAKWORK_KERNELS_POLY_LOOKUP_H_
#define CLOAKWORK_KERNELS_POLY_LOOKUP_H_

#include "kernels/poly/groups.h"

namespace cw {
namespace {

// Rows that one unit sorts by itself; declarations in Rust repeat it. Groups are first sorted by
// insertion, and each merge doubles them.
constexpr u64 kSortRun = 1024;
constexpr u64 kSortGroup = 8;
static_assert(kSortRun / kSortGroup == 128, "an odd number of merges ends where it should");

// A row: its number, and its original index.
template <u32 N>
struct KeyedRow {
  Words<N> key;
  u64 index;
};

template <u32 N>
CW_INLINE bool SameKey(const KeyedRow<N>& a, const KeyedRow<N>& b) {
  return memcmp(&a.key, &b.key, sizeof a.key) == 0;
}

// Whether a's number is less. The branch on the deciding word is predictable: it is mostly the same
// word.
template <u32 N>
CW_INLINE bool Before(const KeyedRow<N>& a, const KeyedRow<N>& b) {
  for (u32 i = N - 1; i != 0; --i) {
    if (a.key.word[i] != b.key.word[i]) return a.key.word[i] < b.key.word[i];
  }
  return a.key.word[0] < b.key.word[0];
}

// Calls body with a row of this many words.
template <class Body>
CW_INLINE void OfWords(u64 words, Body&& body) {
  switch (words) {
    case 1: return body(KeyedRow<1>{});
    case 4: return body(KeyedRow<4>{});
    default: return body(KeyedRow<6>{});
  }
}

// Merges both parts; equal rows of the left part come first.
template <u32 N>
CW_INLINE void MergeParts(KeyedRow<N>* out, const KeyedRow<N>* left, const KeyedRow<N>* middle,
                          const KeyedRow<N>* end) {
  const KeyedRow<N>* right = middle;
  const bool ordered = right == end || !Before(*right, *(middle - 1));
  while (!ordered && left < middle && right < end) {
    // Without a branch, which would be unpredictable.
    const bool second = Before(*right, *left);
    *out++ = left[(right - left) & -(i64)second];
    right += second;
    left += !second;
  }
  memcpy(static_cast<void*>(out), left, (u64)(middle - left) * sizeof *out);
  out += middle - left;
  memcpy(static_cast<void*>(out), right, (u64)(end - right) * sizeof *out);
}

// Merges neighbouring parts of `width` rows.
template <u32 N>
inline void MergePass(KeyedRow<N>* out, const KeyedRow<N>* in, u64 count, u64 width) {
  for (u64 begin = 0; begin < count; begin += 2 * width) {
    const u64 middle = Min(begin + width, count), end = Min(begin + 2 * width, count);
    MergeParts(out + begin, in + begin, in + middle, in + end);
  }
}

// Operands: out (rows sorted within each run), a, spare (as out). dims: runs, weight. params: rows,
// stride of a.
template <class V, class In, class Out>
void CanonicalRuns(const cw_launch& launch, u64 begin, u64 end, void*) {
  using Row = KeyedRow<In::kWords>;
  const i64 step = launch.params[1];
  for (u64 unit = begin; unit < end; ++unit) {
    const u64 first = unit * kSortRun, count = Min(kSortRun, (u64)launch.params[0] - first);
    auto* to = reinterpret_cast<Row*>(UnitData<u64>(launch, 0, unit));
    const In* a = UnitData<const In>(launch, 1, unit);
    auto* from = reinterpret_cast<Row*>(UnitData<u64>(launch, 2, unit));
    for (u64 i = 0; i < count; ++i) {
      const Row own = {ToCanonical(a[(i64)i * step]), first + i};
      u64 at = i;
      for (; at % kSortGroup != 0 && Before(own, from[at - 1]); --at) {
        from[at] = from[at - 1];
      }
      from[at] = own;
    }
    for (u64 width = kSortGroup; width < kSortRun; width *= 2) {
      MergePass(to, from, count, width);
      Row* merged = to;
      to = from;
      from = merged;
    }
  }
}

// Operands: out, rows sorted in runs. dims: pairs of runs, weight. params: rows, rows of a run,
// words of a number.
template <class V, class In, class Out>
void MergeRuns(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u64 rows = (u64)launch.params[0], width = (u64)launch.params[1];
  OfWords((u64)launch.params[2], [&](auto row) {
    using Row = decltype(row);
    for (u64 unit = begin; unit < end; ++unit) {
      const u64 count = Min(2 * width, rows - unit * 2 * width);
      MergePass(reinterpret_cast<Row*>(UnitData<u64>(launch, 0, unit)),
                reinterpret_cast<const Row*>(UnitData<const u64>(launch, 1, unit)), count, width);
    }
  });
}

// For the first row of each value in a: the first row of the table with that value, or -1 - the row
// of a if the table lacks it. The remaining rows of the table go, in order, to the other rows from
// the last up.
template <u32 N>
inline void TableRows(i64* out, i64 to, u64 count, const KeyedRow<N>* a, const KeyedRow<N>* table) {
  u64 value = 0, repeated = count;
  auto skip = [&] {
    do ++value;
    while (value < count && SameKey(a[value], a[value - 1]));
  };
  for (u64 i = 0; i < count; ++i) {
    while (value < count && Before(a[value], table[i])) {
      out[(i64)value * to] = -1 - (i64)a[value].index;
      skip();
    }
    if (value < count && SameKey(a[value], table[i])) {
      out[(i64)value * to] = (i64)table[i].index;
      skip();
      continue;
    }
    // If the table lacks a value, fewer rows repeat than table rows remain.
    do {
      if (repeated != 0) --repeated;
    } while (repeated != 0 && !SameKey(a[repeated], a[repeated - 1]));
    if (repeated != 0) out[(i64)repeated * to] = (i64)table[i].index;
  }
  while (value < count) {
    out[(i64)value * to] = -1 - (i64)a[value].index;
    skip();
  }
}

// Operands: out (i64), rows of a, rows of the table, both sorted. dims: 1, weight. params: rows,
// stride of out, words of a number.
template <class V, class In, class Out>
void LookupRows(const cw_launch& launch, u64 begin, u64 end, void*) {
  if (begin == end) return;
  OfWords((u64)launch.params[2], [&](auto row) {
    using Row = decltype(row);
    TableRows(Data<i64>(launch, 0), launch.params[1], (u64)launch.params[0],
              reinterpret_cast<const Row*>(Data<const u64>(launch, 1)),
              reinterpret_cast<const Row*>(Data<const u64>(launch, 2)));
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_LOOKUP_H_
