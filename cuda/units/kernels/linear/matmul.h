// In place of csrc/kernels/linear/matmul.h for a thread of a GPU: one element of the result, with
// the terms in the order of the processor's portable kernel.
#ifndef CLOAKWORK_KERNELS_LINEAR_MATMUL_H_
#define CLOAKWORK_KERNELS_LINEAR_MATMUL_H_

#include "kernels/linear/elements.h"
#include "kernels/linear/matmul_shape.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// The products of complex elements as a tile of the processor adds them.
template <class T>
CW_INLINE T AddTerm(T a, T b, T sum) {
  return MulAdd(a, b, sum);
}
template <class T>
CW_INLINE Complex<T> AddTerm(Complex<T> a, Complex<T> b, Complex<T> sum) {
  return {-a.im * b.im + (a.re * b.re + sum.re), a.im * b.re + (a.re * b.im + sum.im)};
}

// Packed b is b itself, dense: depth x PackedColumns(columns).
// Places are its elements: the grid has a thread for each.
template <class V, class In, class Out>
void MatmulPack(const cw_launch& launch, u64 begin, u64 end, void*) {
  using T = Arithmetic<In>;
  const MatmulShape shape(launch.params);
  const u32 batch_rank = launch.rank - 3;
  const u64 width = PackedColumns(shape.columns);
  for (u64 place = begin; place < end; ++place) {
    const u64 column = place % width, k = place / width % shape.depth;
    const u64 batch = place / width / shape.depth;
    const T* b = Data<const T>(launch, 1) +
                 OffsetAt(batch, batch_rank, launch.dims, Strides(launch, 1));
    T* packed = Data<T>(launch, 0) +
                OffsetAt(batch, batch_rank, launch.dims, Strides(launch, 0));
    const i64 from = (i64)k * shape.b_row + (i64)column * shape.b_column;
    packed[k * width + column] = column < shape.columns ? b[from] : T{};
  }
}

// Places are elements of the results of all batch entries: the grid has a thread for each.
template <class V, class In, class Out>
void Matmul(const cw_launch& launch, u64 begin, u64 end, void*) {
  using T = Arithmetic<In>;
  const MatmulShape shape(launch.params);
  const u32 batch_rank = launch.rank - 3;
  const i64 b_row = shape.packed ? (i64)PackedColumns(shape.columns) : shape.b_row;
  const i64 b_column = shape.packed ? 1 : shape.b_column;
  for (u64 place = begin; place < end; ++place) {
    const i64 column = (i64)(place % shape.columns);
    const i64 row = (i64)(place / shape.columns % shape.rows);
    const u64 batch = place / shape.columns / shape.rows;
    const auto at = [&](u32 operand) {
      return OffsetAt(batch, batch_rank, launch.dims, Strides(launch, operand));
    };
    const T* a = Data<const T>(launch, 1) + at(1) + row * shape.a_row;
    const T* b = Data<const T>(launch, 2) + at(2) + column * b_column;
    T result = {};
    for (u64 k = 0; k < shape.depth; k += shape.depth_block) {
      const u64 stop = k + Min(shape.depth_block, shape.depth - k);
      T sum = {};
      for (u64 i = k; i < stop; ++i) {
        sum = AddTerm(a[(i64)i * shape.a_column], b[(i64)i * b_row], sum);
      }
      result = k == 0 ? sum : Plus(result, sum);
    }
    Data<T>(launch, 0)[at(0) + row * shape.out_row + column * shape.out_column] = result;
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_MATMUL_H_
