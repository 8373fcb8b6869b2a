// sort and argsort along the last dim; NaN comes last in either direction.
#ifndef CLOAKWORK_KERNELS_SORTING_SORT_H_
#define CLOAKWORK_KERNELS_SORTING_SORT_H_

#include "kernels/rows.h"
#include "kernels/sorting/keys.h"
#include "kernels/sorting/radix.h"

namespace cw {
namespace {

// Calls body(offset of out, offset of a) for units begin .. end of a launch over kept..., n.
template <class Body>
CW_INLINE void ForEachLine(const cw_launch& launch, u64 begin, u64 end, Body&& body) {
  Rows<2> kept(launch.rank - 1, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  i64 to[kBlock], from[kBlock];
  ForEachBlock(kept, begin, end, [&](u64 position, u64 count) {
    kept.ListOffsets(0, position, count, to);
    kept.ListOffsets(1, position, count, from);
    for (u64 i = 0; i < count; ++i) body(to[i], from[i]);
  });
}

// A line of elements.
template <class T>
struct Line {
  T* first;
  i64 step;
  u64 count;
  CW_INLINE T& At(u64 i) const { return first[(i64)i * step]; }
};

// -0.0 and 0.0 are equal, but their keys differ: restores the order of the zeros' keys as in a.
// Another thread may have written more zeros to a by then.
template <class Keys, class T>
CW_INLINE void RestoreZeros(Bare<typename Keys::Key>* sorted, u64 count, Line<const T> a,
                            typename Keys::Key flip) {
  using Key = typename Keys::Key;
  u64 at = 0, negative = 0, zeros = 0;
  for (u64 i = 0; i < a.count; ++i) {
    zeros += a.At(i) == 0;
    negative += Keys::ToKey(a.At(i)) == Keys::kNegativeZero;
  }
  if (negative == 0 || negative == zeros) return;
  for (u64 length = count; length != 0;) {  // the first key of a zero
    const u64 half = length / 2;
    const bool below = sorted[at + half].key < Keys::kNegativeZero;
    at = below ? at + half + 1 : at;
    length = below ? length - half - 1 : half;
  }
  for (u64 i = 0; i < a.count && at < count; ++i) {
    if (a.At(i) == 0) sorted[at++].key = (Key)(Keys::ToKey(a.At(i)) ^ flip);
  }
}

// The keys of a line without NaNs; the bits of NaNs are at the end of the array, in reverse order.
// Returns the number of elements that are not NaN.
template <class Keys, class T>
CW_INLINE u64 LoadKeys(Bare<typename Keys::Key>* records, Line<const T> a,
                       typename Keys::Key flip) {
  using Key = typename Keys::Key;
  u64 numbers = 0;
  for (u64 i = 0; i < a.count; ++i) {
    const T x = a.At(i);
    if (Keys::IsNan(x)) {
      memcpy(&records[a.count - 1 - (i - numbers)].key, &x, sizeof x);
    } else {
      records[numbers++].key = (Key)(Keys::ToKey(x) ^ flip);
    }
  }
  return numbers;
}

// Operands: out, a, which may be the same. params: whether the greatest comes first.
template <class V, class In, class Out>
void Sort(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  using Keys = KeyOf<In>;
  using Key = typename Keys::Key;
  const Key flip = launch.params[0] != 0 ? (Key) ~(Key)0 : (Key)0;
  const u32 last = launch.rank - 1;
  const u64 count = Dim(launch, last);
  auto* records = static_cast<Bare<Key>*>(scratch);
  ForEachLine(launch, begin, end, [&](i64 to, i64 from) {
    const Line<const In> a = {Data<const In>(launch, 1) + from, Strides(launch, 1)[last], count};
    const Line<In> out = {Data<In>(launch, 0) + to, Strides(launch, 0)[last], count};
    const u64 numbers = LoadKeys<Keys>(records, a, flip);
    Bare<Key>* sorted = RadixSort(records, records + SortCapacity(launch), numbers);
    if constexpr (Keys::kIsFloat) RestoreZeros<Keys>(sorted, numbers, a, flip);
    for (u64 i = 0; i < numbers; ++i) out.At(i) = Keys::FromKey((Key)(sorted[i].key ^ flip));
    for (u64 i = numbers; i < count; ++i) {
      memcpy(&out.At(i), &records[count - 1 - (i - numbers)].key, sizeof(In));
    }
  });
}

// Keys of all elements with their places; all NaNs have the last key.
template <class Keys, class Key, class T>
CW_INLINE void LoadIndexed(Indexed<Key>* records, Line<const T> a, bool descending) {
  using Own = typename Keys::Key;
  const Own flip = descending ? (Own) ~(Own)0 : (Own)0;
  for (u64 i = 0; i < a.count; ++i) {
    T x = a.At(i);
    if constexpr (Keys::kIsFloat) x += 0;  // -0.0 becomes 0.0
    const Own key = Keys::IsNan(x) ? (Own) ~(Own)0 : (Own)(Keys::ToKey(x) ^ flip);
    records[i] = {key, (Key)i};
  }
}

template <class Keys, class Key, class T>
CW_INLINE void ArgsortLine(const cw_launch& launch, Line<i64> out, Line<const T> a,
                           void* scratch) {
  auto* records = static_cast<Indexed<Key>*>(scratch);
  LoadIndexed<Keys>(records, a, launch.params[0] != 0);
  const Indexed<Key>* sorted = RadixSort(records, records + SortCapacity(launch), a.count);
  for (u64 i = 0; i < a.count; ++i) out.At(i) = (i64)sorted[i].index;
}

// Operands: out, a. params: whether the greatest comes first.
template <class V, class In, class Out>
void Argsort(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  using Keys = KeyOf<In>;
  const u32 last = launch.rank - 1;
  const u64 count = Dim(launch, last);
  ForEachLine(launch, begin, end, [&](i64 to, i64 from) {
    const Line<const In> a = {Data<const In>(launch, 1) + from, Strides(launch, 1)[last], count};
    const Line<i64> out = {Data<i64>(launch, 0) + to, Strides(launch, 0)[last], count};
    if constexpr (sizeof(In) <= 4) {
      if (HasNarrowIndices(launch)) return ArgsortLine<Keys, u32>(launch, out, a, scratch);
    }
    ArgsortLine<Keys, u64>(launch, out, a, scratch);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_SORTING_SORT_H_
