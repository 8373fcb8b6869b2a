// msm_windows: sums of points by the digits of a window. plans/msm.h has the order of the grids;
// `argument` is the size of a point in XYZZ coordinates.
#include "cuda/kernels/kernel.h"
#include "cuda/plans/msm.h"
#include "kernels/curve/combine.h"
#include "kernels/curve/digits.h"
#include "kernels/curve/points.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// A unit's arrays. dims: rows..., windows, chunks of points, weight.
struct Msm {
  const cw_launch& launch;
  MsmWindowsShape shape;
  MsmLayout layout;
  unsigned char* memory;

  CW_INLINE Msm(const cw_launch& launch_, u64 units, u64 point_bytes, unsigned char* memory_)
      : launch(launch_),
        shape(launch_.params),
        layout(shape, units, point_bytes),
        memory(memory_) {}

  CW_INLINE i64 Place(u32 operand, u64 unit) const {
    return OffsetAt(unit, launch.rank - 1, launch.dims, Strides(launch, operand));
  }
  CW_INLINE u64 Count(u64 unit) const {
    const u64 first = unit % Dim(launch, launch.rank - 2) * shape.chunk;
    return Min(shape.chunk, shape.count - first);
  }
  CW_INLINE const int16_t* Digits(u64 unit) const {
    return Data<const int16_t>(launch, 2) + Place(2, unit);
  }
  template <class T>
  CW_INLINE T* Array(u64 offset, u64 unit, u64 length) const {
    return reinterpret_cast<T*>(memory + offset) + unit * length;
  }
  // cursors[b], at first the number of points of bucket b, then the place of its next one; bucket 0
  // takes points without a digit. ends[b] is behind its last point.
  CW_INLINE u32* Cursors(u64 unit) const {
    return Array<u32>(layout.cursors, unit, layout.buckets + 1);
  }
  CW_INLINE u32* Ends(u64 unit) const {
    return Array<u32>(layout.ends, unit, layout.buckets + 1);
  }
  CW_INLINE u32* Sorted(u64 unit) const { return Array<u32>(layout.sorted, unit, layout.points); }
  CW_INLINE u32* PieceCount(u64 unit) const { return Array<u32>(layout.piece_counts, unit, 1); }
  CW_INLINE MsmPiece* Pieces(u64 unit) const {
    return Array<MsmPiece>(layout.piece_list, unit, layout.pieces);
  }
};

CW_INLINE u32 BucketOf(i64 digit) { return (u32)(digit < 0 ? -digit : digit); }

// Calls body(unit, i, digit) for the points of all units that have a digit:
// blockIdx.y counts units.
template <class Body>
CW_INLINE void ForEachDigit(const Msm& msm, Body&& body) {
  for (u64 unit = blockIdx.y; unit < msm.layout.units; unit += gridDim.y) {
    const u64 count = msm.Count(unit);
    const int16_t* digits = msm.Digits(unit);
    for (u64 i = ThreadIndex(); i < count; i += ThreadCount()) {
      if (digits[i] != 0) body(unit, i, digits[i]);
    }
  }
}

CW_INLINE void CountDigits(const Msm& msm) {
  ForEachDigit(msm, [&](u64 unit, u64, i64 digit) {
    atomicAdd(&msm.Cursors(unit)[BucketOf(digit)], 1u);
  });
}

// Cuts `count` sorted points from `first` into pieces.
CW_INLINE void ListPieces(const Msm& msm, u32 bucket, u32 first, u32 count) {
  const u64 unit = blockIdx.x;
  const u32 share = (u32)kShare, run = (count + share - 1) / share;
  MsmPiece* pieces = msm.Pieces(unit) + atomicAdd(msm.PieceCount(unit), run);
  for (u32 i = 0; i < run; ++i) {
    const u32 done = i * share;
    pieces[i] = {bucket, first + done, (u32)Min(share, count - done), i == 0 ? run : 0};
  }
}

// One block a unit: counts become places, and what is beyond kShare of a bucket becomes pieces.
CW_INLINE void ScanCounts(const Msm& msm, u64* shared) {
  const u64 unit = blockIdx.x, buckets = msm.layout.buckets;
  u32 *cursors = msm.Cursors(unit), *ends = msm.Ends(unit);
  const u64 each = (buckets + blockDim.x) / blockDim.x, first = threadIdx.x * each;
  const u64 stop = Min(first + each, buckets + 1);
  u64 own = 0;
  for (u64 b = first; b < stop; ++b) own += cursors[b];
  shared[threadIdx.x] = own;
  __syncthreads();
  u64 before = 0;
  for (u32 thread = 0; thread < threadIdx.x; ++thread) before += shared[thread];
  for (u64 b = first; b < stop; ++b) {
    const u32 count = cursors[b];
    cursors[b] = (u32)before;
    if (count > kShare) ListPieces(msm, (u32)b, (u32)before + (u32)kShare, count - (u32)kShare);
    before += count;
    ends[b] = (u32)before;
  }
}

CW_INLINE void PlacePoints(const Msm& msm) {
  ForEachDigit(msm, [&](u64 unit, u64 i, i64 digit) {
    const u32 at = atomicAdd(&msm.Cursors(unit)[BucketOf(digit)], 1u);
    msm.Sorted(unit)[at] = (u32)(2 * i) | (digit < 0 ? 1u : 0u);
  });
}

// The sums of one group.
template <class F>
struct Sums : Msm {
  using Point = Affine<F>;
  using Msm::Msm;

  CW_INLINE Xyzz<F>* Buckets(u64 unit) const {
    return Array<Xyzz<F>>(layout.sums, unit, layout.buckets);
  }
  CW_INLINE Xyzz<F>* PieceSums(u64 unit) const {
    return Array<Xyzz<F>>(layout.piece_sums, unit, layout.pieces);
  }
  CW_INLINE Xyzz<F>* Segments(u64 unit) const {
    return Array<Xyzz<F>>(layout.segment_sums, unit, layout.segments);
  }

  // The sum of sorted points first, first + step, ... below stop.
  CW_CALLED Xyzz<F> Sum(u64 unit, u64 first, u64 stop, u64 step) const {
    const Point* bases = Data<const Point>(launch, 1) + Place(1, unit);
    const u32* sorted = Sorted(unit);
    Xyzz<F> sum = InfiniteXyzz<F>();
    for (u64 at = first; at < stop; at += step) {
      const u32 entry = sorted[at];
      Point point = bases[(i64)(entry >> 1) * shape.base_step];
      if ((entry & 1) != 0) point = Neg(point);
      sum = AddPoint(sum, point);
    }
    return sum;
  }

  // The sum of all threads' points, in thread 0.
  static CW_INLINE Xyzz<F> Together(Xyzz<F> own, Xyzz<F>* shared) {
    shared[threadIdx.x] = own;
    __syncthreads();
    for (u32 half = blockDim.x / 2; half != 0; half /= 2) {
      if (threadIdx.x < half) {
        shared[threadIdx.x] = Add(shared[threadIdx.x], shared[threadIdx.x + half]);
      }
      __syncthreads();
    }
    return shared[0];
  }

  // Blocks below `first` take buckets, the others pieces.
  CW_INLINE void SumBuckets(u64 first, Xyzz<F>* shared) const {
    if (blockIdx.x < first) {
      const u64 at = ThreadIndex();
      if (at >= layout.units * layout.buckets) return;
      const u64 unit = at / layout.buckets, bucket = at % layout.buckets + 1;
      const u64 begin = Ends(unit)[bucket - 1], end = Ends(unit)[bucket];
      Buckets(unit)[bucket - 1] = Sum(unit, begin, Min(end, begin + kShare), 1);
      return;
    }
    for (u64 at = blockIdx.x - first; at < layout.units * layout.pieces; at += gridDim.x - first) {
      const u64 unit = at / layout.pieces, index = at % layout.pieces;
      if (index >= *PieceCount(unit)) continue;
      const MsmPiece piece = Pieces(unit)[index];
      const u64 begin = piece.first + threadIdx.x;
      const Xyzz<F> sum =
          Together(Sum(unit, begin, (u64)piece.first + piece.count, blockDim.x), shared);
      if (threadIdx.x == 0) PieceSums(unit)[index] = sum;
      __syncthreads();
    }
  }

  CW_INLINE Xyzz<F> SumPieces(u64 unit, u32 first, u32 stop, u32 step) const {
    Xyzz<F> sum = InfiniteXyzz<F>();
    for (u32 at = first; at < stop; at += step) sum = Add(sum, PieceSums(unit)[at]);
    return sum;
  }
  CW_INLINE void AddToBucket(u64 unit, u32 bucket, const Xyzz<F>& sum) const {
    Buckets(unit)[bucket - 1] = Add(Buckets(unit)[bucket - 1], sum);
  }

  // One block a unit: adds the pieces to their buckets. A thread takes a short run, the block a
  // long one.
  CW_INLINE void AddPieces(Xyzz<F>* shared) const {
    const u64 unit = blockIdx.x;
    const u32 count = *PieceCount(unit);
    const MsmPiece* pieces = Pieces(unit);
    for (u32 at = threadIdx.x; at < count; at += blockDim.x) {
      const u32 run = pieces[at].run;
      if (run == 0 || run > kShortRun) continue;
      AddToBucket(unit, pieces[at].bucket, SumPieces(unit, at, at + run, 1));
    }
    for (u32 at = 0; at < count; at += pieces[at].run) {
      const u32 run = pieces[at].run;
      if (run <= kShortRun) continue;
      const Xyzz<F> own = SumPieces(unit, at + threadIdx.x, at + run, blockDim.x);
      const Xyzz<F> sum = Together(own, shared);
      if (threadIdx.x == 0) AddToBucket(unit, pieces[at].bucket, sum);
      __syncthreads();
    }
  }

  static CW_INLINE Xyzz<F> Multiple(const Xyzz<F>& point, u64 factor) {
    Xyzz<F> result = InfiniteXyzz<F>();
    for (u32 bit = 64 - (factor == 0 ? 64 : (u32)__builtin_clzll(factor)); bit-- > 0;) {
      result = Double(result);
      if ((factor >> bit & 1) != 0) result = Add(result, point);
    }
    return result;
  }

  // sum (first + i + 1) bucket[first + i] over a segment, by sums of sums from its end.
  CW_INLINE void SumSegment() const {
    const u64 at = ThreadIndex();
    if (at >= layout.units * layout.segments) return;
    const u64 unit = at / layout.segments, first = at % layout.segments * kSegment;
    Xyzz<F> running = InfiniteXyzz<F>(), weighted = InfiniteXyzz<F>();
    for (u64 b = Min(first + kSegment, layout.buckets); b-- > first;) {
      running = Add(running, Buckets(unit)[b]);
      weighted = Add(weighted, running);
    }
    Segments(unit)[at % layout.segments] = Add(weighted, Multiple(running, first));
  }

  CW_INLINE void Total(Xyzz<F>* shared) const {
    const u64 unit = blockIdx.x;
    Xyzz<F> own = InfiniteXyzz<F>();
    for (u64 i = threadIdx.x; i < layout.segments; i += blockDim.x) {
      own = Add(own, Segments(unit)[i]);
    }
    const Xyzz<F> sum = Together(own, shared);
    if (threadIdx.x == 0) memcpy(Data<u64>(launch, 0) + Place(0, unit), &sum, sizeof sum);
  }
};

}  // namespace
}  // namespace cw

#define CW_MSM_FUNCTION(name, call)              \
  CW_CUDA_FUNCTION(cw_msm_##name##_cuda) {       \
    using namespace cw;                          \
    const Msm msm(own, units, argument, memory); \
    call;                                        \
  }
CW_MSM_FUNCTION(count, CountDigits(msm))
CW_MSM_FUNCTION(place, PlacePoints(msm))
CW_CUDA_FUNCTION(cw_msm_scan_cuda) {
  using namespace cw;
  __shared__ u64 shared[512];
  ScanCounts(Msm(own, units, argument, memory), shared);
}
CW_CUDA_FUNCTION(cw_msm_clear_cuda) {
  using namespace cw;
  const MsmLayout layout(MsmWindowsShape(own.params), units, argument);
  u32* words = reinterpret_cast<u32*>(memory);
  for (u64 i = ThreadIndex(); i < layout.Zeros() / 4; i += ThreadCount()) words[i] = 0;
}

#define CW_MSM_SUMS(name, suffix, Point, call)                                 \
  CW_CUDA_FUNCTION(cw_msm_##name##_##suffix##_cuda) {                          \
    using namespace cw;                                                        \
    using F = decltype(Point::x);                                              \
    alignas(16) __shared__ unsigned char bytes[kMsmThreads * sizeof(Xyzz<F>)]; \
    auto* shared = reinterpret_cast<Xyzz<F>*>(bytes);                          \
    (void)shared;                                                              \
    const Sums<F> sums(own, units, argument, memory);                          \
    sums.call;                                                                 \
  }
#define CW_MSM(suffix, Point, dtype, Base, parts, Scalar)                                        \
  CW_MSM_SUMS(windows, suffix, Point,                                                            \
              SumBuckets((units * sums.layout.buckets + kMsmThreads - 1) / kMsmThreads, shared)) \
  CW_MSM_SUMS(pieces, suffix, Point, AddPieces(shared))                                          \
  CW_MSM_SUMS(segments, suffix, Point, SumSegment())                                             \
  CW_MSM_SUMS(total, suffix, Point, Total(shared))
CW_EACH_GROUP(CW_MSM)

// A thread for each scalar.
#define CW_MSM_DIGITS(kernel, suffix, Function, F)                                \
  CW_CUDA_FUNCTION(cw_msm_digits_##suffix##_cuda) {                               \
    using namespace cw;                                                           \
    const MsmDigitsShape shape(own.params);                                       \
    for (u64 at = ThreadIndex(); at < units * shape.block; at += ThreadCount()) { \
      const UnitOfDigits<F> unit(own, shape, at / shape.block);                   \
      if (at % shape.block < unit.count) unit.Write(at % shape.block);            \
    }                                                                             \
  }
CW_SCALAR_FIELDS(CW_MSM_DIGITS, msm_digits, MsmDigits)

#define CW_MSM_COMBINE(suffix, Point, dtype, Base, parts, Scalar)         \
  CW_CUDA_FUNCTION(cw_msm_combine_##suffix##_cuda) {                      \
    using namespace cw;                                                   \
    for (u64 unit = ThreadIndex(); unit < units; unit += ThreadCount()) { \
      MsmCombine<U64x1, u64, Point>(own, unit, unit + 1, nullptr);        \
    }                                                                     \
  }
CW_EACH_GROUP(CW_MSM_COMBINE)
