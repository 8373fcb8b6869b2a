// Grids of msm_windows, and the memory that they share.
//
// Of each unit (a window of a chunk of points) the points are sorted by their digits: counted,
// the counts summed, placed. Then a thread sums the points of a bucket, but at most kShare of them:
// the rest of a bucket is cut into pieces, one a block. At last the buckets are summed with their
// weights: kSegment of them a thread, and these sums by one block a unit.
#ifndef CLOAKWORK_CUDA_PLANS_MSM_H_
#define CLOAKWORK_CUDA_PLANS_MSM_H_

#include "cuda/plans/units.h"
#include "kernels/field/elements.h"
#include "kernels/curve/msm_shape.h"

namespace cw {
namespace {

constexpr u64 kShare = 512;
constexpr u64 kSegment = 16;
// Pieces of one bucket that one thread adds.
constexpr u32 kShortRun = 8;
constexpr u64 kMsmThreads = 64;

// `run` is the number of pieces of the bucket in its first one, which the others follow, and 0 in
// these.
struct MsmPiece {
  u32 bucket, first, count, run;
};

// Offsets of the parts of the memory, for points of `words` words in XYZZ coordinates.
struct MsmLayout {
  u64 units, points, buckets, pieces, segments;
  u64 ends, cursors, sorted, sums, piece_counts, piece_list, piece_sums, segment_sums, bytes;

  MsmLayout(const MsmWindowsShape& shape, u64 units_, u64 point_bytes)
      : units(units_),
        points(Min(shape.chunk, shape.count)),
        buckets(BucketsOf(shape.window_bits)),
        pieces(2 * (points / kShare) + 1),
        segments((buckets + kSegment - 1) / kSegment),
        bytes(0) {
    cursors = Take(4 * (buckets + 1));
    piece_counts = Take(4);
    ends = Take(4 * (buckets + 1));
    sorted = Take(4 * points);
    sums = Take(point_bytes * buckets);
    piece_list = Take(sizeof(MsmPiece) * pieces);
    piece_sums = Take(point_bytes * pieces);
    segment_sums = Take(point_bytes * segments);
  }
  // One array for each unit, one after another.
  u64 Take(u64 size) {
    const u64 at = bytes;
    bytes += RoundUp(size * units);
    return at;
  }
  // Bytes from the start that begin as zeros: cursors and piece_counts.
  u64 Zeros() const { return ends; }
};

// The functions of a group beside row->function.
struct MsmFunctions {
  const char *pieces, *segments, *total;
};

inline void PlanMsmOf(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                      const cw_cuda_limits* limits, cw_cuda_plan* plan, u64 point_bytes,
                      const MsmFunctions& own) {
  const MsmLayout layout(MsmWindowsShape(launch->params), units, point_bytes);
  const u64 most = (u64)limits->multiprocessors * kBlocksPerMultiprocessor;
  const auto add = [&](const char* symbol, u64 blocks, u64 threads) {
    plan->grids[plan->count++] = GridOf(row->module, symbol, blocks, threads, point_bytes);
  };
  const u64 rows = Min(units, 65535);  // of gridDim.y
  const u64 spread = Min(CeilDiv(layout.points, 256), CeilDiv(most, rows));
  plan->scratch_bytes = layout.bytes;
  plan->count = 0;
  add("cw_msm_clear_cuda", Min(CeilDiv(layout.Zeros() / 4, 256), most), 256);
  add("cw_msm_count_cuda", spread, 256);
  plan->grids[plan->count - 1].blocks[1] = (u32)rows;
  add("cw_msm_scan_cuda", units, 512);
  add("cw_msm_place_cuda", spread, 256);
  plan->grids[plan->count - 1].blocks[1] = (u32)rows;
  // The first blocks take buckets, one a thread; as many as the device holds take pieces.
  const u64 blocks = CeilDiv(units * layout.buckets, kMsmThreads);
  add(row->function, blocks + 4 * (u64)limits->multiprocessors, kMsmThreads);
  add(own.pieces, units, kMsmThreads);
  add(own.segments, CeilDiv(units * layout.segments, kMsmThreads), kMsmThreads);
  add(own.total, units, kMsmThreads);
}

// A thread for each scalar of the blocks that units are.
inline void PlanMsmDigits(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                          const cw_cuda_limits* limits, cw_cuda_plan* plan) {
  PlanThreads(row, units * MsmDigitsShape(launch->params).block, limits, plan);
}

// A point in XYZZ coordinates has twice the bytes of an affine one.
inline void PlanMsm(const cw_cuda_row* row, const cw_launch* launch, u64 units,
                    const cw_cuda_limits* limits, cw_cuda_plan* plan) {
#define CW_MSM_PLAN(suffix, Point, dtype, Base, parts, Scalar)                           \
  if (row->row.in_dtype == dtype) {                                                      \
    PlanMsmOf(row, launch, units, limits, plan, 2 * sizeof(Point),                       \
              {"cw_msm_pieces_" #suffix "_cuda", "cw_msm_segments_" #suffix "_cuda",     \
               "cw_msm_total_" #suffix "_cuda"});                                        \
  }
  CW_EACH_GROUP(CW_MSM_PLAN)
#undef CW_MSM_PLAN
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_PLANS_MSM_H_
