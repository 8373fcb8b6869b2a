// The innermost loop: one tile of the result, held in registers over a whole block of depth.
#ifndef CLOAKWORK_KERNELS_LINEAR_TILE_H_
#define CLOAKWORK_KERNELS_LINEAR_TILE_H_

#include "kernels/linear/vectors.h"

namespace cw {
namespace {

// out[i, j] = (add ? out[i, j] : 0) + sum_k a[i, k] * b[k, j] for one tile, k in order.
// b[k, j] = b[k * b_step + j]; a[i, k] = a[i * a_step + k] if by_row, else a[i + k * a_step].
// Of a complex b, the real parts of a row come first, then the imaginary parts.
template <class T>
struct TileJob {
  const T* a;
  i64 a_step;
  const T* b;
  i64 b_step;
  T* out;
  i64 out_step;
  u64 depth;
  bool add;
};

template <class V, class T, int rows, int vectors, bool by_row>
__attribute__((noinline)) void RealTile(const TileJob<T>& job) {
  using Vec = typename Tile<V, T>::Vec;
  constexpr int lanes = Tile<V, T>::kLanes;
  const T *a = job.a, *b = job.b;
  const i64 a_step = job.a_step, b_step = job.b_step;
  Vec sums[rows][vectors] = {};
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) {
      __builtin_prefetch(job.out + i * job.out_step + j * lanes, 1);
    }
  }
#pragma GCC unroll 2
  for (u64 k = 0; k < job.depth; ++k) {
    Vec terms[vectors];
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) terms[j] = LoadVector<Vec>(b + j * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vec factor = Broadcast<Vec>(a[by_row ? i * a_step : i]);
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) sums[i][j] = MulAdd(factor, terms[j], sums[i][j]);
    }
    a += by_row ? 1 : a_step;
    b += b_step;
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) {
      T* place = job.out + i * job.out_step + j * lanes;
      const Vec sum = sums[i][j];
      StoreVector(place, job.add ? LoadVector<Vec>(place) + sum : sum);
    }
  }
}

// The same for complex elements: (ar + i ai)(br + i bi) by four real products.
template <class V, class T, int rows, int vectors, bool by_row>
__attribute__((noinline)) void ComplexTile(const TileJob<T>& job) {
  using Component = typename Tile<V, T>::Component;
  using Vec = typename Tile<V, T>::Vec;
  constexpr int lanes = Tile<V, T>::kLanes, columns = Tile<V, T>::kColumns;
  const T* a = job.a;
  const Component* b = &job.b->re;
  Vec re[rows][vectors] = {}, im[rows][vectors] = {};
  for (u64 k = 0; k < job.depth; ++k) {
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
      const T element = a[by_row ? i * job.a_step : i];
      const Vec ar = Broadcast<Vec>(element.re), ai = Broadcast<Vec>(element.im);
#pragma GCC unroll 2
      for (int j = 0; j < vectors; ++j) {
        const Vec br = LoadVector<Vec>(b + j * lanes);
        const Vec bi = LoadVector<Vec>(b + columns + j * lanes);
        re[i][j] = MulAdd(-ai, bi, MulAdd(ar, br, re[i][j]));
        im[i][j] = MulAdd(ai, br, MulAdd(ar, bi, im[i][j]));
      }
    }
    a += by_row ? 1 : job.a_step;
    b += 2 * job.b_step;
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors * lanes; ++j) {
      T& place = job.out[i * job.out_step + j];
      const T old = job.add ? place : T{0, 0};
      place = {old.re + re[i][j / lanes][j % lanes], old.im + im[i][j / lanes][j % lanes]};
    }
  }
}

template <class V, class T, int rows, int vectors, bool by_row>
CW_INLINE void OneTile(const TileJob<T>& job) {
  if constexpr (Tile<V, T>::kComplex) {
    ComplexTile<V, T, rows, vectors, by_row>(job);
  } else {
    RealTile<V, T, rows, vectors, by_row>(job);
  }
}

template <class V, class T, int vectors, bool by_row>
CW_INLINE void TileOfRows(u64 rows, const TileJob<T>& job) {
  constexpr int most = Tile<V, T>::kRows;
  if (rows == most) return OneTile<V, T, most, vectors, by_row>(job);
  if constexpr (most > 4) {
    if (rows == 4) return OneTile<V, T, 4, vectors, by_row>(job);
  }
  if constexpr (most > 2) {
    if (rows == 2) return OneTile<V, T, 2, vectors, by_row>(job);
  }
  OneTile<V, T, 1, vectors, by_row>(job);
}

// `rows` is Tile::kRows or a lesser power of two; vectors is at most Tile::kVectors.
template <class V, class T>
CW_INLINE void RunTile(u64 rows, u64 vectors, bool by_row, const TileJob<T>& job) {
  constexpr int most = Tile<V, T>::kVectors;
  if constexpr (most > 2) {
    if (vectors == 3) {
      return by_row ? TileOfRows<V, T, 3, true>(rows, job) : TileOfRows<V, T, 3, false>(rows, job);
    }
  }
  if constexpr (most > 1) {
    if (vectors == 2) {
      return by_row ? TileOfRows<V, T, 2, true>(rows, job) : TileOfRows<V, T, 2, false>(rows, job);
    }
  }
  by_row ? TileOfRows<V, T, 1, true>(rows, job) : TileOfRows<V, T, 1, false>(rows, job);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_TILE_H_
