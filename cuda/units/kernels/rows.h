// In place of csrc/kernels/rows.h for a thread of a GPU, which runs one unit: a row is one element,
// and a block is that element where it lies.
#ifndef CLOAKWORK_KERNELS_ROWS_H_
#define CLOAKWORK_KERNELS_ROWS_H_

#include "kernels/common.h"

namespace cw {
namespace {

constexpr u64 kBlock = 1;

// Divides by a dim, and gives the rest: in 32 bits where they suffice.
CW_INLINE u64 TakeIndex(u64& position, u64 dim) {
  if ((position | dim) >> 32 == 0) {
    const u32 quotient = (u32)position / (u32)dim;
    const u32 index = (u32)position - quotient * (u32)dim;
    position = quotient;
    return index;
  }
  const u64 index = position % dim;
  position /= dim;
  return index;
}

// Row-major position -> offset.
inline i64 OffsetAt(u64 position, u32 rank, const i64* dims, const i64* strides) {
  i64 offset = 0;
  for (u32 axis = rank; axis-- > 1 && position != 0;) {
    offset += (i64)TakeIndex(position, (u64)dims[axis]) * strides[axis];
  }
  return rank == 0 ? offset : offset + (i64)position * strides[0];
}

template <int operands>
struct Rows {
  static constexpr u64 length = 1;
  u32 rank, outer;
  const i64* dims;
  const i64* strides[operands];
  i64 step[operands];
  bool stepped[operands];
  i64 offset[operands];  // of the current element
  u64 current;

  Rows(u32 rank_, const i64* dims_, const i64* const (&strides_)[operands])
      : rank(rank_), outer(rank_), dims(dims_) {
    for (int i = 0; i < operands; ++i) {
      strides[i] = strides_[i];
      step[i] = 1;
      stepped[i] = true;
    }
  }

  void Seek(u64 position) {
    current = position;
    for (int i = 0; i < operands; ++i) offset[i] = 0;
    for (u32 axis = rank; axis-- > 0 && position != 0;) {
      // Of the outermost axis the rest is the index.
      const i64 index = axis == 0 ? (i64)position : (i64)TakeIndex(position, (u64)dims[axis]);
      for (int i = 0; i < operands; ++i) offset[i] += index * strides[i][axis];
    }
  }

  void Next() { Seek(current + 1); }

  void ListOffsets(int operand, u64, u64, i64* offsets) const { offsets[0] = offset[operand]; }
};

template <int operands, class Body>
CW_INLINE void ForEachBlockOf(u64, Rows<operands>& rows, u64 begin, u64 end, Body&& body) {
  for (u64 unit = begin; unit < end; ++unit) {
    rows.Seek(unit);
    body((u64)0, (u64)1);
  }
}

template <int operands, class Body>
CW_INLINE void ForEachBlock(Rows<operands>& rows, u64 begin, u64 end, Body&& body) {
  ForEachBlockOf(kBlock, rows, begin, end, body);
}

template <int operands, class T>
CW_INLINE const T* FetchBlock(const Rows<operands>& rows, int operand, const T* data, u64, u64,
                              T*) {
  return data + rows.offset[operand];
}

template <int operands, class T>
CW_INLINE T* OpenBlock(const Rows<operands>& rows, int operand, T* data, u64, T*) {
  return data + rows.offset[operand];
}

template <int operands, class T>
CW_INLINE void FlushBlock(const Rows<operands>&, int, T*, u64, u64, const T*) {}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ROWS_H_
