// The params and scratch sizes of matrix products' launches.
#ifndef CLOAKWORK_KERNELS_LINEAR_MATMUL_SHAPE_H_
#define CLOAKWORK_KERNELS_LINEAR_MATMUL_SHAPE_H_

#include "kernels/common.h"

namespace cw {
namespace {

// A multiple of the columns of every tile of every instruction set: blocks of packed columns begin
// at multiples of it, so all instruction sets agree on them.
constexpr u64 kColumnGroup = 192;
// The widest row of a tile of b: of complex elements, two vectors of 64 bytes a component.
constexpr u64 kPanelRowBytes = 256;
// Rows of a copy of a are padded by this, so that the rows of a tile fall in different sets of the
// cache.
constexpr u64 kRowPadding = 64;

struct MatmulShape {
  u64 rows, columns, depth;                       // a is rows x depth, b is depth x columns
  u64 row_block, column_block, depth_block;       // of a unit; columns by kColumnGroup if packed
  i64 a_row, a_column, b_row, b_column;           // strides
  i64 out_row, out_column;
  bool packed;                                    // b is the result of matmul_pack

  explicit MatmulShape(const i64* p)
      : rows((u64)p[0]), columns((u64)p[1]), depth((u64)p[2]),
        row_block((u64)p[3]), column_block((u64)p[4]), depth_block((u64)p[5]),
        a_row(p[6]), a_column(p[7]), b_row(p[8]), b_column(p[9]),
        out_row(p[10]), out_column(p[11]), packed(p[12] != 0) {}

  // Elements of a copy of a row of a.
  template <class T>
  u64 CopiedRow() const {
    return RoundUp(depth_block * sizeof(T)) / sizeof(T) + kRowPadding / sizeof(T);
  }
  template <class T>
  u64 CopyBytes() const {
    return RoundUp(row_block) * CopiedRow<T>() * sizeof(T);
  }
};

// One batch entry's packed b: for each block of depth, panels of Tile::kColumns columns, each
// row-major; the last panel is filled up with zeros.
CW_INLINE u64 PackedColumns(u64 columns) {
  return (columns + kColumnGroup - 1) / kColumnGroup * kColumnGroup;
}

// A matrix times a vector.
struct MatvecShape {
  u64 rows, depth, row_block;  // a unit's rows: a multiple of every vector's lanes
  i64 row, column, vector, out;  // strides

  explicit MatvecShape(const i64* p)
      : rows((u64)p[0]), depth((u64)p[1]), row_block((u64)p[2]),
        row(p[3]), column(p[4]), vector(p[5]), out(p[6]) {}
};

// Sums, or a part of the vector, that stay in the first-level cache.
constexpr u64 kMatvecScratchBytes = 16384;

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_MATMUL_SHAPE_H_
