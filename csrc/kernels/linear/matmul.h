// out = a b, after the blocking of BLIS: K. Goto and R. van de Geijn, "Anatomy of high-performance
// matrix multiplication", ACM TOMS 34 (2008); F. Van Zee and R. van de Geijn, "BLIS: a framework
// for rapidly instantiating BLAS functionality", ACM TOMS 41 (2015).
//
// A unit is a block of the result. For each block of depth, a copy of the block of a stays in the
// second-level cache while panels of b pass; tile.h multiplies one tile's rows by one panel. Each
// element is a sum over depth in one order, whatever the units.
#ifndef CLOAKWORK_KERNELS_LINEAR_MATMUL_H_
#define CLOAKWORK_KERNELS_LINEAR_MATMUL_H_

#include "kernels/linear/panels.h"
#include "kernels/linear/tile.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// dims: batch..., blocks of depth, groups of columns, weight; out: packed b, by batch entry.
template <class V, class T>
__attribute__((noinline)) void PackOf(const cw_launch& launch, u64 begin, u64 end) {
  constexpr u64 wide = Tile<V, T>::kColumns;
  static_assert(kColumnGroup % wide == 0, "groups begin with a panel");
  const MatmulShape shape(launch.params);
  const u32 batch_rank = launch.rank - 3;
  const u64 blocks = Dim(launch, batch_rank), groups = Dim(launch, batch_rank + 1);
  const Steps step = {shape.b_row, shape.b_column};
  for (u64 unit = begin; unit < end; ++unit) {
    const u64 batch = unit / groups / blocks, group = unit % groups;
    const u64 k = unit / groups % blocks * shape.depth_block;
    const u64 depth = Min(shape.depth_block, shape.depth - k);
    const T* b = Data<const T>(launch, 1) +
                 OffsetAt(batch, batch_rank, launch.dims, Strides(launch, 1)) +
                 (i64)k * step.row;
    T* packed = Data<T>(launch, 0) +
                OffsetAt(batch, batch_rank, launch.dims, Strides(launch, 0)) +
                k * PackedColumns(shape.columns);
    const u64 stop = Min(shape.columns, (group + 1) * kColumnGroup);
    for (u64 c = group * kColumnGroup; c < stop; c += wide) {
      PackPanel<V>(b + (i64)c * step.column, step, depth, Min(wide, stop - c), packed + c * depth);
    }
  }
}

// One unit, or several of the same rows side by side.
template <class V, class T>
struct BlockProduct {
  using Shape = Tile<V, T>;
  static constexpr u64 kWide = Shape::kColumns, kTall = Shape::kRows, kLanes = Shape::kLanes;

  const MatmulShape& shape;
  const T *a, *b;  // of the batch entry
  T* out;
  T* copy_of_a;
  T* panel_of_b;

  void Run(u64 row, u64 rows, u64 column, u64 columns) const {
    u64 k = 0;
    do {  // once even if the depth is 0: empty sums are zeros
      const u64 depth = Min(shape.depth_block, shape.depth - k);
      const BlockOfA<T> block = FetchA(row, rows, k, depth, columns);
      for (u64 c = column; c < column + columns; c += kWide) {
        const u64 width = Min(kWide, column + columns - c);
        TileJob<T> job = {};
        job.depth = depth;
        job.add = k != 0;
        job.a_step = block.step;
        FetchB(k, c, width, job);
        RunPanel(block, row, rows, c, width, job);
      }
      k += depth;
    } while (k < shape.depth);
  }

  // Uses a in place if few panels read it, each row or column as it is stored.
  BlockOfA<T> FetchA(u64 row, u64 rows, u64 k, u64 depth, u64 columns) const {
    const T* first = a + (i64)row * shape.a_row + (i64)k * shape.a_column;
    const bool few = columns <= kReadInPlace;
    if (few && shape.a_column == 1) {
      return {first, shape.a_row, (i64)kTall * shape.a_row, true};
    }
    if (few && shape.a_row == 1) return {first, shape.a_column, (i64)kTall, false};
    return CopyOfA<V>(first, shape, rows, depth, copy_of_a);
  }

  void FetchB(u64 k, u64 column, u64 width, TileJob<T>& job) const {
    if (shape.packed) {
      job.b = b + k * PackedColumns(shape.columns) + column * job.depth;
      job.b_step = (i64)kWide;
      return;
    }
    const T* first = b + (i64)k * shape.b_row + (i64)column * shape.b_column;
    const bool whole = !Shape::kComplex && width % kLanes == 0;
    if (whole && shape.b_column == 1) {
      job.b = first;
      job.b_step = shape.b_row;
      return;
    }
    PackPanel<V>(first, {shape.b_row, shape.b_column}, job.depth, width, panel_of_b);
    job.b = panel_of_b;
    job.b_step = (i64)kWide;
  }

  // All tiles of one panel, from the top; the last rows use tiles of 4, 2 and 1.
  void RunPanel(const BlockOfA<T>& block, u64 row, u64 rows, u64 column, u64 width,
                TileJob<T> job) const {
    const u64 vectors = (width + kLanes - 1) / kLanes;
    u64 tall = kTall;
    for (u64 done = 0; done < rows; done += tall) {
      while (tall > rows - done) tall /= 2;
      const u64 inside = done % kTall;
      job.a = block.data + (i64)(done / kTall) * block.tile_step +
              (i64)inside * (block.by_row ? block.step : 1);
      T* place = out + (i64)(row + done) * shape.out_row + (i64)column * shape.out_column;
      if (shape.out_column == 1 && width % kLanes == 0) {
        job.out = place;
        job.out_step = shape.out_row;
        RunTile<V>(tall, vectors, block.by_row, job);
      } else {
        RunApart(tall, width, block.by_row, job, place);
      }
    }
  }

  // A tile whose columns are not contiguous in the result goes through one in memory.
  __attribute__((noinline)) void RunApart(u64 tall, u64 width, bool by_row, TileJob<T> job,
                                          T* place) const {
    T tile[kTall * kWide];
    const bool add = job.add;
    job.out = tile;
    job.out_step = (i64)kWide;
    job.add = false;
    RunTile<V>(tall, (width + kLanes - 1) / kLanes, by_row, job);
    for (u64 i = 0; i < tall; ++i) {
      T* row = place + (i64)i * shape.out_row;
      for (u64 j = 0; j < width; ++j) {
        T& element = row[(i64)j * shape.out_column];
        element = add ? Plus(element, tile[i * kWide + j]) : tile[i * kWide + j];
      }
    }
  }

  // Columns below which a copy of a does not pay. Measured on Zen 4.
  static constexpr u64 kReadInPlace = 256;
};

// dims: batch..., blocks of rows, blocks of columns, weight.
template <class V, class T>
__attribute__((noinline)) void ProductOf(const cw_launch& launch, u64 begin, u64 end,
                                         void* scratch) {
  static_assert(Tile<V, T>::kColumns * sizeof(T) <= kPanelRowBytes, "a panel fits its scratch");
  const MatmulShape shape(launch.params);
  const u32 batch_rank = launch.rank - 3;
  const u64 row_blocks = Dim(launch, batch_rank), column_blocks = Dim(launch, batch_rank + 1);
  auto* copy = static_cast<uint8_t*>(scratch);
  auto* panel = reinterpret_cast<T*>(copy + shape.CopyBytes<T>());
  for (u64 unit = begin; unit < end;) {
    const u64 batch = unit / column_blocks / row_blocks;
    const u64 row = unit / column_blocks % row_blocks * shape.row_block;
    const u64 block = unit % column_blocks;
    const u64 blocks = Min(column_blocks - block, end - unit);
    const u64 column = block * shape.column_block;
    const i64 *dims = launch.dims, *out_strides = Strides(launch, 0);
    const BlockProduct<V, T> product = {
        shape,
        Data<const T>(launch, 1) + OffsetAt(batch, batch_rank, dims, Strides(launch, 1)),
        Data<const T>(launch, 2) + OffsetAt(batch, batch_rank, dims, Strides(launch, 2)),
        Data<T>(launch, 0) + OffsetAt(batch, batch_rank, dims, out_strides),
        reinterpret_cast<T*>(copy),
        panel};
    product.Run(row, Min(shape.row_block, shape.rows - row), column,
                Min(blocks * shape.column_block, shape.columns - column));
    unit += blocks;
  }
}

template <class V, class In, class Out>
CW_INLINE void MatmulPack(const cw_launch& launch, u64 begin, u64 end, void*) {
  PackOf<V, Arithmetic<In>>(launch, begin, end);
}

template <class V, class In, class Out>
CW_INLINE void Matmul(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  ProductOf<V, Arithmetic<In>>(launch, begin, end, scratch);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_MATMUL_H_
