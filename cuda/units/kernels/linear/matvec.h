// In place of csrc/kernels/linear/matvec.h for a thread of a GPU: the product of one row, with the
// terms in the order of the processor's portable kernel.
#ifndef CLOAKWORK_KERNELS_LINEAR_MATVEC_H_
#define CLOAKWORK_KERNELS_LINEAR_MATVEC_H_

#include "kernels/linear/elements.h"
#include "kernels/linear/matmul_shape.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// A dense row by a dense part of a vector: lanes of 16 bytes, two at a time.
template <class T>
inline T DenseDot(const T* row, const T* vector, i64 step, u64 depth) {
  constexpr u64 lanes = kComplexElement<T> ? 1 : 16 / sizeof(T);
  T chains[2 * lanes] = {};
  u64 k = 0;
  for (; k + 2 * lanes <= depth; k += 2 * lanes) {
    for (u64 i = 0; i < 2 * lanes; ++i) {
      chains[i] = MulAdd(row[k + i], vector[(i64)(k + i) * step], chains[i]);
    }
  }
  T first = chains[0], second = chains[lanes];
  for (u64 i = 1; i < lanes; ++i) {
    first = Plus(first, chains[i]);
    second = Plus(second, chains[lanes + i]);
  }
  T sum = Plus(first, second);
  for (; k < depth; ++k) sum = MulAdd(row[k], vector[(i64)k * step], sum);
  return sum;
}

template <class T>
inline T RowDot(const MatvecShape& shape, const T* row, const T* vector) {
  T sum = {};
  if (shape.column != 1) {
    for (u64 k = 0; k < shape.depth; ++k) {
      sum = MulAdd(row[(i64)k * shape.column], vector[(i64)k * shape.vector], sum);
    }
    return sum;
  }
  const u64 part = shape.vector == 1 ? shape.depth : kMatvecScratchBytes / sizeof(T);
  for (u64 k = 0; k < shape.depth; k += part) {
    const u64 depth = Min(part, shape.depth - k);
    const T dot = DenseDot(row + k, vector + (i64)k * shape.vector, shape.vector, depth);
    sum = Plus(sum, Plus(T{}, dot));
  }
  return sum;
}

// Places are rows of all batch entries: the grid has a thread for each.
template <class V, class In, class Out>
void Matvec(const cw_launch& launch, u64 begin, u64 end, void*) {
  using T = Arithmetic<In>;
  const MatvecShape shape(launch.params);
  const u32 batch_rank = launch.rank - 2;
  for (u64 place = begin; place < end; ++place) {
    const u64 batch = place / shape.rows;
    const i64 r = (i64)(place % shape.rows);
    const auto at = [&](u32 operand) {
      return OffsetAt(batch, batch_rank, launch.dims, Strides(launch, operand));
    };
    const T* row = Data<const T>(launch, 1) + at(1) + r * shape.row;
    Data<T>(launch, 0)[at(0) + r * shape.out] =
        RowDot(shape, row, Data<const T>(launch, 2) + at(2));
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_MATVEC_H_
