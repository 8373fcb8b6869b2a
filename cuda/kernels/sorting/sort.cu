// sort and argsort by stable merges. plans/sort.h has the grids.
#include "cuda/kernels/kernel.h"
#include "cuda/plans/sort.h"
#include "kernels/rows.h"
#include "kernels/sorting/keys.h"

namespace cw {
namespace {

// The key of an element among its like: 0.0 and -0.0 have the same, NaN the last.
template <class T>
CW_INLINE typename KeyOf<T>::Key OrderOf(T x, bool descending) {
  using Keys = KeyOf<T>;
  using Key = typename Keys::Key;
  if (Keys::IsNan(x)) return (Key) ~(Key)0;
  if constexpr (Keys::kIsFloat) x += 0;
  return (Key)(Keys::ToKey(x) ^ (descending ? (Key) ~(Key)0 : (Key)0));
}

// What is sorted in place of elements.
template <class T>
struct Key {
  using Out = T;
  typename KeyOf<T>::Key key;
  static CW_INLINE Key Of(T x, u64, bool descending) { return {OrderOf(x, descending)}; }
  CW_INLINE T Result(bool descending) const {
    using Own = typename KeyOf<T>::Key;
    return KeyOf<T>::FromKey((Own)(key ^ (descending ? (Own) ~(Own)0 : (Own)0)));
  }
};

// Of floats, whose keys do not tell all bits.
template <class T>
struct KeyAndElement {
  using Out = T;
  typename KeyOf<T>::Key key;
  T element;
  static CW_INLINE KeyAndElement Of(T x, u64, bool descending) {
    return {OrderOf(x, descending), x};
  }
  CW_INLINE T Result(bool) const { return element; }
};

template <class T>
struct KeyAndIndex {
  using Out = i64;
  typename KeyOf<T>::Key key;
  u64 index;
  static CW_INLINE KeyAndIndex Of(T x, u64 index, bool descending) {
    return {OrderOf(x, descending), index};
  }
  CW_INLINE i64 Result(bool) const { return (i64)index; }
};

// How many of the first `taken` records of two merged runs are of the first one, which has those
// that are equal first.
template <class Record>
CW_INLINE u64 Split(const Record* a, u64 a_count, const Record* b, u64 b_count, u64 taken) {
  u64 low = taken > b_count ? taken - b_count : 0, high = Min(taken, a_count);
  while (low < high) {
    const u64 middle = (low + high) / 2;
    if (b[taken - 1 - middle].key < a[middle].key) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Calls write(place, record) for kSortShare records from `place` of runs that are merged in pairs.
template <class Record, class Write>
CW_INLINE void MergeShare(const Record* from, u64 count, u64 run, u64 place, Write&& write) {
  const u64 first = place / (2 * run) * (2 * run), middle = Min(first + run, count);
  const u64 end = Min(first + 2 * run, count), stop = Min(place + kSortShare, end);
  u64 i = first + Split(from + first, middle - first, from + middle, end - middle, place - first);
  u64 j = middle + (place - first) - (i - first);
  for (u64 at = place; at < stop; ++at) {
    const bool second = i >= middle || (j < end && from[j].key < from[i].key);
    write(at, second ? from[j++] : from[i++]);
  }
}

template <class T, class Record>
struct Sorter {
  using Out = typename Record::Out;
  const cw_launch& launch;
  const u32 last;
  const u64 count;
  const bool descending;

  CW_INLINE explicit Sorter(const cw_launch& launch_)
      : launch(launch_),
        last(launch_.rank - 1),
        count(Dim(launch_, last)),
        descending(launch_.params[0] != 0) {}

  template <class U>
  CW_INLINE U* Line(u32 operand, u64 unit) const {
    return Data<U>(launch, operand) +
           OffsetAt(unit, last, launch.dims, Strides(launch, operand));
  }
  CW_INLINE Record Load(const T* line, u64 at) const {
    return Record::Of(line[(i64)at * Strides(launch, 1)[last]], at, descending);
  }
  CW_INLINE void Store(Out* line, u64 at, const Record& record) const {
    line[(i64)at * Strides(launch, 0)[last]] = record.Result(descending);
  }

  CW_INLINE void Few(u64 unit) const {
    const T* from = Line<const T>(1, unit);
    Record records[kFewSorted];
    for (u64 i = 0; i < count; ++i) Insert(records, i, Load(from, i));
    Out* to = Line<Out>(0, unit);
    for (u64 i = 0; i < count; ++i) Store(to, i, records[i]);
  }
  // Behind sorted records, and behind equals.
  static CW_INLINE void Insert(Record* records, u64 sorted, const Record& own) {
    u64 at = sorted;
    for (; at != 0 && own.key < records[at - 1].key; --at) records[at] = records[at - 1];
    records[at] = own;
  }

  // Sorts a tile of a line in shared memory; returns where it is.
  CW_INLINE Record* SortTile(const T* line, u64 first, Record* shared) const {
    const u64 own = Min(count - first, (u64)blockDim.x * kSortShare);
    Record *from = shared, *to = shared + blockDim.x * kSortShare;
    for (u64 i = threadIdx.x; i < own; i += blockDim.x) to[i] = Load(line, first + i);
    __syncthreads();
    const u64 place = threadIdx.x * kSortShare;
    for (u64 i = place; i < Min(place + kSortShare, own); ++i) {
      Insert(from + place, i - place, to[i]);
    }
    __syncthreads();
    for (u64 run = kSortShare; run < own; run *= 2) {
      if (place < own) {
        MergeShare(from, own, run, place, [&](u64 at, const Record& record) { to[at] = record; });
      }
      __syncthreads();
      Record* other = from;
      from = to, to = other;
    }
    return from;
  }

  CW_INLINE void Tile(u64 unit, u64 first, Record* shared, Record* to) const {
    const Record* sorted = SortTile(Line<const T>(1, unit), first, shared);
    const u64 own = Min(count - first, kSortTile);
    for (u64 i = threadIdx.x; i < own; i += blockDim.x) to[first + i] = sorted[i];
    __syncthreads();
  }

  // kSortShare records of a line from `place`, of two arrays of it at `records`.
  CW_INLINE void Merge(u64 unit, u64 run, bool is_last, u64 place, Record* records) const {
    // The first array has the tiles.
    const bool odd = (63 - __builtin_clzll(run / kSortTile)) & 1;
    const Record* from = records + (odd ? count : 0);
    Record* to = records + (odd ? 0 : count);
    if (is_last) {
      Out* line = Line<Out>(0, unit);
      MergeShare(from, count, run, place,
                 [&](u64 at, const Record& record) { Store(line, at, record); });
    } else {
      MergeShare(from, count, run, place,
                 [&](u64 at, const Record& record) { to[at] = record; });
    }
  }

  // A whole line by one block, which has two arrays at `records` if the line is longer than a tile.
  CW_INLINE void Whole(u64 unit, Record* shared, Record* records) const {
    if (count <= kSortTile) {
      const Record* sorted = SortTile(Line<const T>(1, unit), 0, shared);
      Out* line = Line<Out>(0, unit);
      for (u64 i = threadIdx.x; i < count; i += blockDim.x) Store(line, i, sorted[i]);
      __syncthreads();
      return;
    }
    for (u64 first = 0; first < count; first += kSortTile) Tile(unit, first, shared, records);
    for (u64 run = kSortTile; run < count; run *= 2) {
      const u64 step = (u64)blockDim.x * kSortShare;
      for (u64 place = threadIdx.x * kSortShare; place < count; place += step) {
        Merge(unit, run, 2 * run >= count, place, records);
      }
      __syncthreads();
    }
  }

  CW_INLINE void Run(u64 units, u64 argument, Record* records, Record* shared) const {
    const u64 run = argument / kSortTile * kSortTile, phase = argument % kSortTile;
    const u64 tiles = (count + kSortTile - 1) / kSortTile;
    if (phase == kSortFew) {
      for (u64 unit = ThreadIndex(); unit < units; unit += ThreadCount()) Few(unit);
    } else if (phase == kSortLines) {
      for (u64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
        Whole(unit, shared, records + 2 * count * blockIdx.x);
      }
    } else {
      for (u64 at = blockIdx.x; at < units * tiles; at += gridDim.x) {
        const u64 unit = at / tiles, first = at % tiles * kSortTile;
        Record* own = records + 2 * count * unit;
        if (phase == kSortTiles) {
          Tile(unit, first, shared, own);
        } else {
          const u64 place = first + threadIdx.x * kSortShare;
          if (place < count) Merge(unit, run, phase == kSortLastMerge, place, own);
        }
      }
    }
  }
};

template <bool condition, class A, class B>
struct Either {
  using Type = A;
};
template <class A, class B>
struct Either<false, A, B> {
  using Type = B;
};
template <class T>
using SortRecord = typename Either<KeyOf<T>::kIsFloat, KeyAndElement<T>, Key<T>>::Type;
template <class T>
using ArgsortRecord = KeyAndIndex<T>;

}  // namespace
}  // namespace cw

#undef CW_KERNEL
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                       \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) {                                 \
    using namespace cw;                                                             \
    using Record = Function##Record<In>;                                            \
    CW_CUDA_SHARED(shared);                                                         \
    Sorter<In, Record>(own).Run(units, argument, reinterpret_cast<Record*>(memory), \
                                reinterpret_cast<Record*>(shared));                 \
  }
#include "csrc/kernels/sorting/sorts.inc"
