// The order of a reduction: one result at a time, or many side by side.
//
// The choice depends on the geometry alone, and a result never depends on its neighbours: the bits
// are the same however the kept positions are divided.
#ifndef CLOAKWORK_KERNELS_REDUCTION_PLAN_H_
#define CLOAKWORK_KERNELS_REDUCTION_PLAN_H_

#include "kernels/odometer.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// Results computed at once if they are contiguous: a page of eight-byte elements.
constexpr u64 kNeighbours = 512;
// Reduced positions folded in one pass over those results.
constexpr u64 kGroup = 8;
// Fewer neighbours than this do not pay for a pass.
constexpr u64 kFewColumns = 8;
// Reductions of at most this many elements are always computed side by side.
constexpr u64 kShortReduction = 16;

CW_INLINE u64 Magnitude(i64 step) { return step < 0 ? 0 - (u64)step : (u64)step; }

// Operands: out, a. dims: kept..., reduced...; params: number of reduced dims.
struct ReductionPlan {
  u32 kept, reduced;  // axes
  u64 units, count;   // results, elements of each
  bool columns;       // results side by side

  explicit ReductionPlan(const cw_launch& launch)
      : kept(launch.rank - (u32)launch.params[0]), reduced((u32)launch.params[0]) {
    units = count = 1;
    for (u32 axis = 0; axis < kept; ++axis) units *= Dim(launch, axis);
    for (u32 axis = kept; axis < launch.rank; ++axis) count *= Dim(launch, axis);
    const i64* strides = Strides(launch, 1);
    const u32 across = LastLong(launch, 0, kept), along = LastLong(launch, kept, launch.rank);
    columns = across < kept && Dim(launch, across) >= kFewColumns;
    if (columns && along < launch.rank && count > kShortReduction) {
      columns = Magnitude(strides[across]) < Magnitude(strides[along]);
    }
  }

  // The last axis of begin .. end that has more than one position; end if there is none.
  static u32 LastLong(const cw_launch& launch, u32 begin, u32 end) {
    for (u32 axis = end; axis-- > begin;) {
      if (launch.dims[axis] > 1) return axis;
    }
    return end;
  }

  // Elements from one array of accumulators to the next.
  u64 ColumnStride() const { return RoundUp(Min(kNeighbours, units)); }

  // Accumulators that a tree over all groups holds at once, and the one in progress.
  u64 Levels() const {
    u64 levels = 2;
    for (u64 groups = count / kGroup; groups != 0; groups >>= 1) ++levels;
    return levels;
  }

  u64 ColumnBytes(u64 element_bytes) const {
    if (!columns) return 0;
    return (Levels() * ColumnStride() + kGroup * kBlock) * element_bytes;
  }
};

// The elements of one reduction in order, a block of up to `capacity` at a time.
template <class In, u64 capacity>
struct BlockReader {
  Rows<1> rows;
  const In* first;
  u64 at;  // in the current row
  In buffer[capacity];

  BlockReader(const cw_launch& launch, const ReductionPlan& plan)
      : rows(plan.reduced, launch.dims + plan.kept, {Strides(launch, 1) + plan.kept}),
        first(nullptr),
        at(0) {}

  CW_INLINE void Start(const In* first_) {
    first = first_;
    at = 0;
    rows.Seek(0);
  }

  CW_INLINE const In* Next(u64 count) {
    if (rows.stepped[0] && rows.step[0] == 1 && rows.length - at >= count) {
      const In* block = first + rows.offset[0] + (i64)at;
      Advance(count);
      return block;
    }
    for (u64 done = 0; done < count;) {
      const u64 piece = Min(Min(count - done, rows.length - at), kBlock);
      In* to = buffer + done;
      const In* from = FetchBlock(rows, 0, first, at, piece, to);
      if (from != to) memcpy(to, from, piece * sizeof(In));
      Advance(piece);
      done += piece;
    }
    return buffer;
  }

  // As many of the next elements as lie together, else as many as the buffer has room for.
  CW_INLINE u64 Together(u64 wanted) const {
    const bool in_place = rows.stepped[0] && rows.step[0] == 1 && rows.length - at >= wanted;
    return in_place ? wanted : Min(wanted, capacity);
  }

  CW_INLINE void Advance(u64 count) {
    at += count;
    if (at == rows.length) {
      at = 0;
      rows.Next();
    }
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_PLAN_H_
