// One window of a multi-scalar multiplication: points are sorted by their digits, and the points of
// each bucket are summed in pairs, then pairs of pairs and so on, several buckets in one block.
#ifndef CLOAKWORK_KERNELS_CURVE_WINDOW_H_
#define CLOAKWORK_KERNELS_CURVE_WINDOW_H_

#include "kernels/curve/bucket_sums.h"
#include "kernels/curve/msm_shape.h"

namespace cw {
namespace {

// The scratch memory of a window.
template <class V>
struct WindowMemory {
  u32* counts;     // end of each bucket in the sorted points
  u32* sorted;     // points by bucket: index times 2, plus 1 if the digit is negative
  u64* buckets;    // sums, kept
  u64* sums;       // of a block, kept; two more points for the lanes left over
  PairList pairs;
  PairGroup<V>* groups;
  uint8_t* special;
  Segment* segments;
};

template <class V>
inline WindowMemory<V> CarveWindow(u64 points, u64 window_bits, void* scratch) {
  static_assert(sizeof(PairGroup<V>) <= V::kLanes * GroupBytesOf(V::kWords), "fits");
  const WindowLayout layout(V::kWords, points, window_bits);
  uint8_t* base = static_cast<uint8_t*>(scratch);
  WindowMemory<V> memory;
  memory.counts = (u32*)(base + layout.counts);
  memory.sorted = (u32*)(base + layout.sorted);
  memory.buckets = (u64*)(base + layout.buckets);
  memory.sums = (u64*)(base + layout.sums);
  memory.pairs.left = (const u64**)(base + layout.left);
  memory.pairs.right = (const u64**)(base + layout.right);
  memory.pairs.out = (u64**)(base + layout.out);
  memory.pairs.count = 0;
  memory.groups = (PairGroup<V>*)(base + layout.groups);
  memory.special = base + layout.special;
  memory.segments = (Segment*)(base + layout.segments);
  return memory;
}

// Sorts points by the digits' magnitudes; entries without a digit are left out. Returns their
// number.
template <class V>
inline u64 SortByDigit(const WindowMemory<V>& memory, const int16_t* digits, u64 count,
                       u64 buckets) {
  u32* ends = memory.counts + 1;
  memset(memory.counts, 0, 4 * (buckets + 2));
  for (u64 i = 0; i < count; ++i) ++ends[digits[i] < 0 ? -digits[i] : digits[i]];
  ends[0] = 0;
  for (u64 bucket = 1; bucket <= buckets; ++bucket) ends[bucket] += ends[bucket - 1];
  const u64 total = ends[buckets];
  // Starts move to ends as the buckets fill: ends[b - 1], the start of bucket b, becomes its end.
  for (u64 i = 0; i < count; ++i) {
    const i64 digit = digits[i];
    if (digit == 0) continue;
    memory.sorted[ends[(digit < 0 ? -digit : digit) - 1]++] = (u32)(2 * i) | (digit < 0 ? 1 : 0);
  }
  return total;
}

// Sums of blocks of sorted points.
template <class V>
struct Blocks {
  WindowMemory<V> memory;
  const u64* points;
  i64 step;  // words from one point to the next
  bool infinite = false;  // whether a sum may be at infinity
  bool carried = false;   // whether a bucket was split: `carry` is its sum so far
  u64 singles = 0;
  const u64* single[V::kLanes];
  u64* single_out[V::kLanes];
  u64 carry[2 * V::kWords];

  static constexpr u64 kPoint = 2 * V::kWords;

  Blocks(const WindowMemory<V>& memory_, const u64* points_, i64 step_)
      : memory(memory_), points(points_), step(step_) {}

  u64* Sum(u64 place) const { return memory.sums + place * kPoint; }
  // The end of bucket b, once it has been filled.
  u32 End(u32 bucket) const { return memory.counts[bucket]; }
  const u64* Signed(u32 entry) const {
    return (const u64*)((uintptr_t)(points + (i64)(entry >> 1) * step) | (entry & 1));
  }
  CW_INLINE void Pair(const u64* left, const u64* right, u64* out) {
    PairList& pairs = memory.pairs;
    pairs.left[pairs.count] = left;
    pairs.right[pairs.count] = right;
    pairs.out[pairs.count++] = out;
  }
  // A point without a partner becomes a kept one.
  CW_INLINE void Single(const u64* point, u64* out) {
    single[singles] = point;
    single_out[singles++] = out;
    if (singles == V::kLanes) KeepSingles();
  }
  void KeepSingles() {
    if (singles == 0) return;
    for (; singles < V::kLanes; ++singles) {
      single[singles] = single[0];
      single_out[singles] = single_out[0];
    }
    singles = 0;
    const PointLanes<V> fresh = LoadPoints<true, V>(single);
    const V zero = ZeroLanesOf<V>();
    KeepPoints(Settle(SubLoose<1>(fresh.x, zero)),
               Settle(SubLoose<V::kFresh + 1>(fresh.y, zero)), single_out);
  }

  // Sums all pairs; the last group is padded with two points of different x that lie after the
  // sums, and their sum is ignored.
  template <bool fresh>
  void Run(u64 behind) {
    u64* spare = Sum(behind);
    memset(spare, 0, 3 * 8 * kPoint);
    spare[V::kWords] = spare[kPoint] = spare[kPoint + V::kWords] = 1;
    while (memory.pairs.count % V::kLanes != 0) Pair(spare, spare + kPoint, spare + 2 * kPoint);
    SumPairs<fresh, V>(memory.pairs, memory.groups, memory.special, infinite);
    memory.pairs.count = 0;
  }

  // Pairs of points begin .. end; returns the number of segments.
  u64 First(u64 begin, u64 end, u32& bucket) {
    u64 sums = 0, segments = 0;
    for (u64 at = begin; at < end; ++segments) {
      while (End(bucket) <= at) ++bucket;
      const u64 stop = Min(End(bucket), end), first = sums;
      if (carried) memcpy(Sum(sums++), carry, sizeof carry);
      carried = false;
      for (; at + 1 < stop; at += 2) {
        Pair(Signed(memory.sorted[at]), Signed(memory.sorted[at + 1]), Sum(sums++));
      }
      if (at < stop) Single(Signed(memory.sorted[at++]), Sum(sums++));
      memory.segments[segments] = {(u32)first, (u32)(sums - first), bucket};
    }
    KeepSingles();
    Run<true>(sums);
    return segments;
  }

  // Halves each segment by pair sums until one point is left: the sum of its bucket, or of the part
  // of a bucket that continues after `end`.
  void Rest(u64 segments, u64 end) {
    const u64 behind = memory.segments[segments - 1].first + memory.segments[segments - 1].count;
    while (segments > 0) {
      u64 left = 0;
      for (u64 i = 0; i < segments; ++i) {
        Segment own = memory.segments[i];
        if (own.count == 1) {
          const bool cut = End(own.bucket) > end;
          u64* to = cut ? carry : memory.buckets + (own.bucket - 1) * kPoint;
          memcpy(to, Sum(own.first), sizeof carry);
          carried |= cut;
          continue;
        }
        const u32 kept = own.count - own.count / 2;
        for (u32 j = 0; j < own.count / 2; ++j) {
          Pair(Sum(own.first + j), Sum(own.first + kept + j), Sum(own.first + j));
        }
        own.count = kept;
        memory.segments[left++] = own;
      }
      segments = left;
      if (segments > 0) Run<false>(behind);
    }
  }
};

// sum_i digit_i P_i.
template <class V>
Xyzz<typename V::Scalar> SumWindow(const WindowMemory<V>& memory, const u64* points, i64 step,
                                   const int16_t* digits, u64 count, u64 window_bits) {
  const u64 buckets = BucketsOf(window_bits);
  const u64 total = SortByDigit(memory, digits, count, buckets);
  memset(memory.buckets, 0, buckets * Blocks<V>::kPoint * 8);
  Blocks<V> blocks(memory, points, step);
  u32 bucket = 1;
  for (u64 begin = 0; begin < total; begin += kBlockPoints) {
    const u64 end = Min(begin + kBlockPoints, total);
    blocks.Rest(blocks.First(begin, end, bucket), end);
  }
  return SumBuckets<V>(memory.buckets, buckets);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_WINDOW_H_
