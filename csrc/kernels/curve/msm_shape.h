// The parameters of multi-scalar multiplication's launches (docs/kernels.md).
#ifndef CLOAKWORK_KERNELS_CURVE_MSM_SHAPE_H_
#define CLOAKWORK_KERNELS_CURVE_MSM_SHAPE_H_

#include "kernels/common.h"

namespace cw {
namespace {

struct MsmDigitsShape {
  u64 count, block, window_bits, windows, base_words;
  i64 scalar_step, base_step;  // in elements, from a place to the next
  explicit MsmDigitsShape(const i64* p)
      : count((u64)p[0]),
        block((u64)p[1]),
        window_bits((u64)p[2]),
        windows((u64)p[3]),
        base_words((u64)p[4]),
        scalar_step(p[5]),
        base_step(p[6]) {}
};

struct MsmWindowsShape {
  u64 count, chunk, window_bits;
  i64 base_step;
  explicit MsmWindowsShape(const i64* p)
      : count((u64)p[0]), chunk((u64)p[1]), window_bits((u64)p[2]), base_step(p[3]) {}
};

struct MsmCombineShape {
  u64 windows, chunks, window_bits;
  explicit MsmCombineShape(const i64* p)
      : windows((u64)p[0]), chunks((u64)p[1]), window_bits((u64)p[2]) {}
};

// Points of a block. Its first pairs, their sums and the data of the inversions stay in a
// second-level cache of 1 MiB.
constexpr u64 kBlockPoints = 8192;
constexpr u64 kMostLanes = 8;

// Points of one bucket in a block: their sums lie side by side.
struct Segment {
  u32 first, count, bucket;
};

constexpr u64 BucketsOf(u64 window_bits) { return (u64)1 << (window_bits - 1); }
// Bytes of a pair's denominator and the product before it, in limbs of 52 bits or in words.
constexpr u64 GroupBytesOf(u64 words) { return 16 * words * 3 / 2; }

// The layout of a window's scratch memory, for coordinates of `words` words.
struct WindowLayout {
  u64 bytes = 0;
  u64 counts, sorted, buckets, sums, left, right, out, groups, special, segments;

  WindowLayout(u64 words, u64 points, u64 window_bits) {
    const u64 point = 16 * words, block = Min(points, kBlockPoints) + 1;
    const u64 pairs = block / 2 + kMostLanes;
    counts = Take(4 * (BucketsOf(window_bits) + 2));
    sorted = Take(4 * points);
    buckets = Take(point * BucketsOf(window_bits));
    sums = Take(point * (block + 3));  // and padding points for the last lanes
    left = Take(8 * pairs);
    right = Take(8 * pairs);
    out = Take(8 * pairs);
    groups = Take(GroupBytesOf(words) * (pairs + kMostLanes));
    special = Take(pairs);
    segments = Take(sizeof(Segment) * block);
  }
  u64 Take(u64 size) {
    const u64 at = bytes;
    bytes += RoundUp(size);
    return at;
  }
};

// The table of one point's multiples: signed digits of 8 bits.
constexpr u64 kTableWindows = 32, kTableMultiples = 128;
// Number of multiples of a point from which a table pays.
constexpr u64 kTableWorth = 256;

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_MSM_SHAPE_H_
