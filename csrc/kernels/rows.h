// Walks a strided iteration space in rows along which operands advance by a constant step.
//
// A row is the longest tail of the space over which no operand breaks its step, except operands
// whose own tail is short (a modulus per limb on a last axis of two): those are addressed by a
// list of offsets. Rows are cut into blocks that stay in the first-level cache.
#ifndef CLOAKWORK_KERNELS_ROWS_H_
#define CLOAKWORK_KERNELS_ROWS_H_

#include "kernels/common.h"

namespace cw {
namespace {

constexpr u64 kBlock = 256;
constexpr u64 kShortTail = 32;

struct Tail {
  u64 length;
  i64 step;
};

// The longest tail of the space over which strides make one constant step.
inline Tail FindTail(u32 rank, const i64* dims, const i64* strides) {
  Tail tail = {1, 0};
  for (u32 axis = rank; axis-- > 0;) {
    const u64 dim = (u64)dims[axis];
    if (dim == 1) continue;
    if (tail.length == 1) {
      tail = {dim, strides[axis]};
    } else if (strides[axis] == tail.step * (i64)tail.length) {
      tail.length *= dim;
    } else {
      break;
    }
  }
  return tail;
}

// Row-major position -> offset, by division: for starts, not for loops.
inline i64 OffsetAt(u64 position, u32 rank, const i64* dims, const i64* strides) {
  i64 offset = 0;
  for (u32 axis = rank; axis-- > 0 && position != 0;) {
    const u64 dim = (u64)dims[axis];
    offset += (i64)(position % dim) * strides[axis];
    position /= dim;
  }
  return offset;
}

template <int operands>
struct Rows {
  u32 rank;
  u32 outer;  // axes before a row
  u64 length;
  const i64* dims;
  const i64* strides[operands];
  i64 step[operands];
  bool stepped[operands];  // the whole row has this step
  i64 offset[operands];    // of the current row
  u64 index[kMaxRank];     // of the current row, along the outer axes

  // The strides of each operand cover the first `rank` axes.
  Rows(u32 rank_, const i64* dims_, const i64* const (&strides_)[operands])
      : rank(rank_), outer(rank_), length(0), dims(dims_) {
    Tail tails[operands];
    for (int i = 0; i < operands; ++i) {
      strides[i] = strides_[i];
      tails[i] = FindTail(rank, dims, strides[i]);
      const bool shortest = length == 0 || tails[i].length < length;
      if (tails[i].length >= kShortTail && shortest) length = tails[i].length;
    }
    const u64 wanted = length;  // 0: every tail is short, the whole space is one row
    length = 1;
    while (outer > 0 && length != wanted) length *= (u64)dims[--outer];
    for (int i = 0; i < operands; ++i) {
      step[i] = tails[i].step;
      stepped[i] = tails[i].length >= length;
    }
  }

  void Seek(u64 row) {
    for (int i = 0; i < operands; ++i) offset[i] = OffsetAt(row, outer, dims, strides[i]);
    for (u32 axis = outer; axis-- > 0;) {
      index[axis] = row % (u64)dims[axis];
      row /= (u64)dims[axis];
    }
  }

  void Next() {
    for (u32 axis = outer; axis-- > 0;) {
      ++index[axis];
      for (int i = 0; i < operands; ++i) offset[i] += strides[i][axis];
      if (index[axis] < (u64)dims[axis]) return;
      for (int i = 0; i < operands; ++i) offset[i] -= strides[i][axis] * dims[axis];
      index[axis] = 0;
    }
  }

  // Offsets of elements position .. position + count of the current row, for an operand that has
  // no constant step there.
  void ListOffsets(int operand, u64 position, u64 count, i64* offsets) const {
    const u32 axes = rank - outer;
    if (axes == 0) {
      offsets[0] = offset[operand];
      return;
    }
    const i64* row_dims = dims + outer;
    const i64* row_strides = strides[operand] + outer;
    u64 at[kMaxRank];
    i64 base = offset[operand];
    for (u32 axis = axes; axis-- > 0;) {
      at[axis] = position % (u64)row_dims[axis];
      base += (i64)at[axis] * row_strides[axis];
      position /= (u64)row_dims[axis];
    }
    const u32 last = axes - 1;
    const i64 last_step = row_strides[last];
    for (u64 done = 0; done < count;) {
      const u64 run = Min((u64)row_dims[last] - at[last], count - done);
      for (u64 i = 0; i < run; ++i) offsets[done + i] = base + (i64)i * last_step;
      done += run;
      at[last] += run;
      base += (i64)run * last_step;
      for (u32 axis = last; axis > 0 && at[axis] == (u64)row_dims[axis]; --axis) {
        base += row_strides[axis - 1] - row_strides[axis] * row_dims[axis];
        at[axis] = 0;
        ++at[axis - 1];
      }
    }
  }
};

// Calls body(position, count) for the blocks of units begin .. end, of up to size each, with rows
// at their row.
template <int operands, class Body>
CW_INLINE void ForEachBlockOf(u64 size, Rows<operands>& rows, u64 begin, u64 end, Body&& body) {
  if (begin >= end) return;
  u64 position = begin % rows.length;
  rows.Seek(begin / rows.length);
  for (u64 left = end - begin; left != 0;) {
    const u64 stop = position + Min(rows.length - position, left);
    left -= stop - position;
    while (position < stop) {
      const u64 count = Min(size, stop - position);
      body(position, count);
      position += count;  // never beyond stop: size may be the largest number
    }
    position = 0;
    if (left != 0) rows.Next();
  }
}

template <int operands, class Body>
CW_INLINE void ForEachBlock(Rows<operands>& rows, u64 begin, u64 end, Body&& body) {
  ForEachBlockOf(kBlock, rows, begin, end, body);
}

// The block's elements of one operand, contiguous: in place, or gathered into buffer.
template <int operands, class T>
CW_INLINE const T* FetchBlock(const Rows<operands>& rows, int operand, const T* data, u64 position,
                              u64 count, T* buffer) {
  if (rows.stepped[operand]) {
    const i64 step = rows.step[operand];
    const T* first = data + rows.offset[operand] + (i64)position * step;
    if (step == 1) return first;
    for (u64 i = 0; i < count; ++i) buffer[i] = first[(i64)i * step];
    return buffer;
  }
  i64 offsets[kBlock];
  rows.ListOffsets(operand, position, count, offsets);
  for (u64 i = 0; i < count; ++i) buffer[i] = data[offsets[i]];
  return buffer;
}

// The destination of the block's results: in place, or buffer, which FlushBlock copies.
template <int operands, class T>
CW_INLINE T* OpenBlock(const Rows<operands>& rows, int operand, T* data, u64 position, T* buffer) {
  const bool direct = rows.stepped[operand] && rows.step[operand] == 1;
  return direct ? data + rows.offset[operand] + (i64)position : buffer;
}

template <int operands, class T>
CW_INLINE void FlushBlock(const Rows<operands>& rows, int operand, T* data, u64 position, u64 count,
                          const T* buffer) {
  if (rows.stepped[operand]) {
    const i64 step = rows.step[operand];
    if (step == 1) return;
    T* first = data + rows.offset[operand] + (i64)position * step;
    for (u64 i = 0; i < count; ++i) first[(i64)i * step] = buffer[i];
    return;
  }
  i64 offsets[kBlock];
  rows.ListOffsets(operand, position, count, offsets);
  for (u64 i = 0; i < count; ++i) data[offsets[i]] = buffer[i];
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ROWS_H_
