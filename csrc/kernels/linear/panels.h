// Copies of blocks of a and b in the order in which the tile loop reads them.
#ifndef CLOAKWORK_KERNELS_LINEAR_PANELS_H_
#define CLOAKWORK_KERNELS_LINEAR_PANELS_H_

#include "kernels/linear/matmul_shape.h"
#include "kernels/linear/vectors.h"

namespace cw {
namespace {

// One step of a transposition: pairs at `distance` exchange their off-diagonal parts.
template <class Vec, int distance>
CW_INLINE void ExchangePairs(Vec (&r)[8]) {
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    if ((i & distance) != 0) continue;
    const Vec x = r[i], y = r[i + distance];
    if constexpr (distance == 1) {
      r[i] = __builtin_shufflevector(x, y, 0, 8, 2, 10, 4, 12, 6, 14);
      r[i + 1] = __builtin_shufflevector(x, y, 1, 9, 3, 11, 5, 13, 7, 15);
    } else if constexpr (distance == 2) {
      r[i] = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + 2] = __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    } else {
      r[i] = __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11);
      r[i + 4] = __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
    }
  }
}

// out[k * out_step + i] = in[i * in_step + k] for i, k < 8.
template <class T>
CW_INLINE void Transpose8(const T* in, i64 in_step, T* out, i64 out_step) {
  using Vec = Vector<T, 8 * (int)sizeof(T)>;
  Vec r[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = LoadVector<Vec>(in + i * in_step);
  ExchangePairs<Vec, 1>(r);
  ExchangePairs<Vec, 2>(r);
  ExchangePairs<Vec, 4>(r);
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) StoreVector(out + k * out_step, r[k]);
}

// A step from element to element along rows and along columns.
struct Steps {
  i64 row, column;
};

// out[r * out_step + c] = in[r * in.row + c * in.column].
template <class T>
CW_INLINE void CopyStrided(const T* in, Steps step, u64 rows, u64 columns, T* out, i64 out_step) {
  for (u64 r = 0; r < rows; ++r) {
    for (u64 c = 0; c < columns; ++c) {
      out[(i64)r * out_step + (i64)c] = in[(i64)r * step.row + (i64)c * step.column];
    }
  }
}

// The same where columns of the source are dense (step.row == 1).
template <class V, class T>
inline void CopyTransposed(const T* in, Steps step, u64 rows, u64 columns, T* out, i64 out_step) {
  u64 whole_rows = 0, whole_columns = 0;
  if constexpr (sizeof(T) >= 4 && 8 * sizeof(T) <= Tile<V, T>::kBytes) {
    whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
    for (u64 r = 0; r < whole_rows; r += 8) {
      for (u64 c = 0; c < whole_columns; c += 8) {
        Transpose8(in + r + (i64)c * step.column, step.column, out + (i64)r * out_step + c,
                   out_step);
      }
    }
  }
  CopyStrided(in + (i64)whole_columns * step.column, step, whole_rows, columns - whole_columns,
              out + whole_columns, out_step);
  CopyStrided(in + whole_rows, step, rows - whole_rows, columns, out + (i64)whole_rows * out_step,
              out_step);
}

// A block of a as the tile loop reads it.
template <class T>
struct BlockOfA {
  const T* data;
  i64 step;       // TileJob::a_step
  i64 tile_step;  // elements from a tile's first row to the next tile's
  bool by_row;
};

// Copies rows x depth elements of a: rows as rows, columns in strips of a tile's height.
template <class V, class T>
inline BlockOfA<T> CopyOfA(const T* a, const MatmulShape& shape, u64 rows, u64 depth, T* copy) {
  constexpr u64 tall = Tile<V, T>::kRows;
  if (shape.a_row == 1 && shape.a_column != 1) {
    for (u64 row = 0; row < rows; row += tall) {
      const u64 here = Min(tall, rows - row);
      const T* strip = a + row;
      T* to = copy + row * depth;
      for (u64 k = 0; k < depth; ++k, strip += shape.a_column, to += tall) {
        if (here == tall) {
          memcpy(to, strip, tall * sizeof(T));
        } else {
          for (u64 i = 0; i < here; ++i) to[i] = strip[i];
        }
      }
    }
    return {copy, (i64)tall, (i64)(tall * depth), false};
  }
  const i64 step = (i64)shape.CopiedRow<T>();
  for (u64 row = 0; row < rows; ++row) {
    const T* from = a + (i64)row * shape.a_row;
    T* to = copy + (i64)row * step;
    if (shape.a_column == 1) {
      memcpy(to, from, depth * sizeof(T));
    } else {
      for (u64 k = 0; k < depth; ++k) to[k] = from[(i64)k * shape.a_column];
    }
  }
  return {copy, step, (i64)tall * step, true};
}

// One panel of a real b: depth x Tile::kColumns, zeros beyond `columns`.
template <class V, class T>
inline void PackReal(const T* b, Steps step, u64 depth, u64 columns, T* panel) {
  using Vec = typename Tile<V, T>::Vec;
  constexpr u64 wide = Tile<V, T>::kColumns, lanes = Tile<V, T>::kLanes;
  if (columns < wide) {
    for (u64 k = 0; k < depth; ++k) {
      for (u64 c = columns; c < wide; ++c) panel[k * wide + c] = T{};
    }
  }
  if (step.column == 1 && columns == wide) {
    for (u64 k = 0; k < depth; ++k, b += step.row, panel += wide) {
      for (u64 c = 0; c < wide; c += lanes) StoreVector(panel + c, LoadVector<Vec>(b + c));
    }
  } else if (step.row == 1) {
    CopyTransposed<V>(b, step, depth, columns, panel, (i64)wide);
  } else {
    CopyStrided(b, step, depth, columns, panel, (i64)wide);
  }
}

// One panel of a complex b: the real parts of a row, then its imaginary parts.
template <class V, class T>
inline void PackComplex(const T* b, Steps step, u64 depth, u64 columns, T* panel) {
  constexpr u64 wide = Tile<V, T>::kColumns;
  auto* to = &panel->re;
  for (u64 k = 0; k < depth; ++k, to += 2 * wide) {
    for (u64 c = 0; c < wide; ++c) {
      const T element = c < columns ? b[(i64)k * step.row + (i64)c * step.column] : T{0, 0};
      to[c] = element.re;
      to[wide + c] = element.im;
    }
  }
}

template <class V, class T>
CW_INLINE void PackPanel(const T* b, Steps step, u64 depth, u64 columns, T* panel) {
  if constexpr (Tile<V, T>::kComplex) {
    PackComplex<V>(b, step, depth, columns, panel);
  } else {
    PackReal<V>(b, step, depth, columns, panel);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_PANELS_H_
