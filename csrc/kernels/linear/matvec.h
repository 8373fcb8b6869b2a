// out = matrix vector, at the speed of memory: the matrix is read once, along its dense axis.
#ifndef CLOAKWORK_KERNELS_LINEAR_MATVEC_H_
#define CLOAKWORK_KERNELS_LINEAR_MATVEC_H_

#include "kernels/linear/matmul_shape.h"
#include "kernels/linear/vectors.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// Rows first .. first + rows of one batch entry. A row's result does not depend on the rows beside
// it, except that the last rows, fewer than a vector, may be computed separately.
template <class V, class T>
struct VectorProduct {
  using Shape = Tile<V, T>;
  static constexpr u64 kLanes = Shape::kComplex ? 1 : Shape::kLanes;
  static constexpr u64 kChunk = kMatvecScratchBytes / sizeof(T);
  static constexpr int kAtOnce = 4, kChains = 2, kColumns = 8;

  const MatvecShape& shape;
  const T *matrix, *vector;
  T* out;
  T* scratch;

  static CW_INLINE auto Load(const T* p) {
    if constexpr (Shape::kComplex) {
      return *p;
    } else {
      return LoadVector<typename Shape::Vec>(p);
    }
  }
  using Vec = decltype(Load(nullptr));

  static CW_INLINE void Store(T* p, Vec v) {
    if constexpr (Shape::kComplex) {
      *p = v;
    } else {
      StoreVector(p, v);
    }
  }
  static CW_INLINE Vec Repeat(T x) {
    if constexpr (Shape::kComplex) {
      return x;
    } else {
      return Broadcast<Vec>(x);
    }
  }
  static CW_INLINE T Total(Vec v) {
    if constexpr (Shape::kComplex) {
      return v;
    } else {
      T sum = v[0];
      for (u64 lane = 1; lane < kLanes; ++lane) sum = Plus(sum, (T)v[lane]);
      return sum;
    }
  }

  // sums[i] += row i . x, for `count` rows from `first`; the order is the same for any count.
  template <int count>
  void Dots(const T* first, const T* x, u64 depth, T* sums) const {
    Vec chains[count][kChains] = {};
    u64 k = 0;
    for (; k + kChains * kLanes <= depth; k += kChains * kLanes) {
#pragma GCC unroll 2
      for (int c = 0; c < kChains; ++c) {
        const Vec factor = Load(x + k + (u64)c * kLanes);
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) {
          const Vec part = Load(first + i * shape.row + (i64)(k + (u64)c * kLanes));
          chains[i][c] = MulAdd(part, factor, chains[i][c]);
        }
      }
    }
    for (int i = 0; i < count; ++i) {
      T rest = Plus(Total(chains[i][0]), Total(chains[i][1]));
      for (u64 j = k; j < depth; ++j) rest = MulAdd(first[i * shape.row + (i64)j], x[j], rest);
      sums[i] = Plus(sums[i], rest);
    }
  }

  // Rows are dense. A vector with gaps is copied a part at a time.
  void AlongRows(u64 first, u64 rows) const {
    const u64 part = shape.vector == 1 ? shape.depth : kChunk;
    for (u64 r = first; r < first + rows; ++r) out[(i64)r * shape.out] = T{};
    for (u64 k = 0; k < shape.depth; k += part) {
      const u64 depth = Min(part, shape.depth - k);
      const T* x = vector + k;
      if (shape.vector != 1) {
        for (u64 j = 0; j < depth; ++j) scratch[j] = vector[(i64)(k + j) * shape.vector];
        x = scratch;
      }
      const T* start = matrix + (i64)k;
      for (u64 r = first; r < first + rows;) {
        T sums[kAtOnce] = {};
        const u64 count = first + rows - r >= kAtOnce ? kAtOnce : 1;
        const T* row = start + (i64)r * shape.row;
        count == 1 ? Dots<1>(row, x, depth, sums) : Dots<kAtOnce>(row, x, depth, sums);
        for (u64 i = 0; i < count; ++i) {
          T& place = out[(i64)(r + i) * shape.out];
          place = Plus(place, sums[i]);
        }
        r += count;
      }
    }
  }

  // sums += count columns times their factors.
  template <int count>
  void AddColumns(const T* column, u64 k, u64 rows) const {
    const T* x = vector + (i64)k * shape.vector;
    u64 r = 0;
    for (; r + kLanes <= rows; r += kLanes) {
      Vec sum = Load(scratch + r);
#pragma GCC unroll 8
      for (int j = 0; j < count; ++j) {
        const Vec part = Load(column + j * shape.column + (i64)r);
        sum = MulAdd(part, Repeat(x[j * shape.vector]), sum);
      }
      Store(scratch + r, sum);
    }
    for (; r < rows; ++r) {
      for (int j = 0; j < count; ++j) {
        scratch[r] = MulAdd(column[j * shape.column + (i64)r], x[j * shape.vector], scratch[r]);
      }
    }
  }

  // Columns are dense: sums of a part of the rows stay in the cache.
  void AlongColumns(u64 first, u64 rows) const {
    for (u64 done = 0; done < rows; done += kChunk) {
      const u64 here = Min(kChunk, rows - done);
      for (u64 r = 0; r < here; ++r) scratch[r] = T{};
      const T* column = matrix + (i64)(first + done);
      u64 k = 0;
      for (; k + kColumns <= shape.depth; k += kColumns) {
        AddColumns<kColumns>(column + (i64)k * shape.column, k, here);
      }
      for (; k < shape.depth; ++k) AddColumns<1>(column + (i64)k * shape.column, k, here);
      for (u64 r = 0; r < here; ++r) out[(i64)(first + done + r) * shape.out] = scratch[r];
    }
  }

  void AnyStrides(u64 first, u64 rows) const {
    for (u64 r = first; r < first + rows; ++r) {
      T sum = {};
      const T* row = matrix + (i64)r * shape.row;
      for (u64 k = 0; k < shape.depth; ++k) {
        sum = MulAdd(row[(i64)k * shape.column], vector[(i64)k * shape.vector], sum);
      }
      out[(i64)r * shape.out] = sum;
    }
  }

  void Run(u64 first, u64 rows) const {
    if (shape.column == 1) return AlongRows(first, rows);
    if (shape.row == 1) return AlongColumns(first, rows);
    AnyStrides(first, rows);
  }
};

// dims: batch..., blocks of rows, weight.
template <class V, class T>
__attribute__((noinline)) void VectorProductOf(const cw_launch& launch, u64 begin, u64 end,
                                               void* scratch) {
  const MatvecShape shape(launch.params);
  const u32 batch_rank = launch.rank - 2;
  const u64 blocks = Dim(launch, batch_rank);
  for (u64 unit = begin; unit < end;) {
    const u64 batch = unit / blocks, block = unit % blocks;
    const u64 count = Min(blocks - block, end - unit);
    const auto at = [&](u32 operand) {
      return OffsetAt(batch, batch_rank, launch.dims, Strides(launch, operand));
    };
    const VectorProduct<V, T> product = {shape, Data<const T>(launch, 1) + at(1),
                                         Data<const T>(launch, 2) + at(2),
                                         Data<T>(launch, 0) + at(0), static_cast<T*>(scratch)};
    const u64 first = block * shape.row_block;
    product.Run(first, Min(count * shape.row_block, shape.rows - first));
    unit += count;
  }
}

template <class V, class In, class Out>
CW_INLINE void Matvec(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  VectorProductOf<V, Arithmetic<In>>(launch, begin, end, scratch);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_MATVEC_H_
