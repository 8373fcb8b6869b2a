// copy and fill: any strides on either side.
#ifndef CLOAKWORK_KERNELS_LAYOUT_COPY_H_
#define CLOAKWORK_KERNELS_LAYOUT_COPY_H_

#include "kernels/layout/squares.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// Rows copied together if a has its smallest stride along another axis than out: a 64-byte line of
// a that is read for one row then serves them all.
constexpr u64 kTransposeRows = 16;
// Columns of a tile: as many pages of a as a first-level address cache holds.
constexpr u64 kTransposeColumns = 64;
// Rows of one repeated element, up to this length, are written without a buffer.
constexpr u64 kRepeatMost = 4096;

// A tile of count rows, which differ only in the axis before the last, and length columns. It goes
// through a buffer: rows of out are often a power of two apart, and their lines would evict each
// other from the first-level cache.
template <class T>
CW_INLINE void CopyTransposed(T* out, const i64* out_at, const T* a, const i64* a_at, u64 length,
                              u64 count) {
  T tile[kTransposeRows][kTransposeColumns + 8];
  for (u64 i = 0; i < length; ++i) {
    const T* column = a + (i64)i * a_at[1];
    for (u64 row = 0; row < count; ++row) tile[row][i] = column[(i64)row * a_at[0]];
  }
  for (u64 row = 0; row < count; ++row) {
    T* out_row = out + (i64)row * out_at[0];
    if (out_at[1] == 1) {
      memcpy(out_row, tile[row], length * sizeof(T));
    } else {
      for (u64 i = 0; i < length; ++i) out_row[(i64)i * out_at[1]] = tile[row][i];
    }
  }
}

// Operands: out, a. The space is cut into rows of its last axis.
template <class T>
struct Copier {
  const cw_launch& launch;
  u32 last;
  u64 length;
  Rows<2> rows;
  bool transposed;

  explicit Copier(const cw_launch& launch_)
      : launch(launch_),
        last(launch_.rank - 1),
        length(Dim(launch_, last)),
        rows(launch_.rank, launch_.dims, {Strides(launch_, 0), Strides(launch_, 1)}),
        transposed(false) {
    if (launch.rank < 2 || rows.length != length || !rows.stepped[0] || !rows.stepped[1]) return;
    const i64* a_at = Strides(launch, 1) + last;
    transposed = a_at[-1] != 0 && Magnitude(a_at[-1]) < Magnitude(a_at[0]);
  }
  static u64 Magnitude(i64 step) { return step < 0 ? 0 - (u64)step : (u64)step; }

  // Rows begin .. end, all in one run of the axis before the last, in groups.
  void Groups(u64 begin, u64 end) {
    const i64* out_at = Strides(launch, 0) + last - 1;
    const i64* a_at = Strides(launch, 1) + last - 1;
    rows.Seek(begin);
    T* out = Data<T>(launch, 0) + rows.offset[0];
    const T* a = Data<const T>(launch, 1) + rows.offset[1];
    if constexpr (kHasSquares<T>) {
      if (out_at[1] == 1 && a_at[0] == 1) {
        return TransposeSquares(out, out_at[0], a, a_at[1], end - begin, length);
      }
    }
    for (u64 column = 0; column < length; column += kTransposeColumns) {
      const u64 columns = Min(kTransposeColumns, length - column);
      for (u64 row = 0; row < end - begin; row += kTransposeRows) {
        CopyTransposed(out + (i64)row * out_at[0] + (i64)column * out_at[1], out_at,
                       a + (i64)row * a_at[0] + (i64)column * a_at[1], a_at, columns,
                       Min(kTransposeRows, end - begin - row));
      }
    }
  }

  static constexpr u64 kAll = ~(u64)0;

  void Stepped(u64 begin, u64 end) {
    T buffer[kBlock];
    if (rows.stepped[0] && rows.step[0] == 1 && rows.stepped[1] && rows.step[1] == 1) {
      // In one go: the library has its own ways for long copies.
      ForEachBlockOf(kAll, rows, begin, end, [&](u64 position, u64 count) {
        const T* a = Data<const T>(launch, 1) + rows.offset[1] + (i64)position;
        memmove(Data<T>(launch, 0) + rows.offset[0] + (i64)position, a, count * sizeof(T));
      });
      return;
    }
    ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
      const T* a = FetchBlock(rows, 1, Data<const T>(launch, 1), position, count, buffer);
      FlushOrCopy(a, position, count);
    });
  }

  CW_INLINE void FlushOrCopy(const T* a, u64 position, u64 count) {
    T* out = OpenBlock<2, T>(rows, 0, Data<T>(launch, 0), position, nullptr);
    if (out != nullptr) {
      memmove(out, a, count * sizeof(T));
    } else {
      FlushBlock(rows, 0, Data<T>(launch, 0), position, count, a);
    }
  }

  // Whether each element of a fills a short row of out that follows the one before.
  bool Repeats() const {
    const i64* out_at = Strides(launch, 0) + last;
    const i64* a_at = Strides(launch, 1) + last;
    return launch.rank >= 2 && a_at[0] == 0 && out_at[0] == 1 && length <= kRepeatMost &&
           out_at[-1] == (i64)length;
  }

  // Whole rows begin .. end, all in one run of the axis before the last.
  template <u64 kLength>
  void Repeat(u64 begin, u64 end) {
    const u64 each = kLength == 0 ? length : kLength;
    const i64 step = Strides(launch, 1)[last - 1];
    T* out = Data<T>(launch, 0) + OffsetAt(begin, last, launch.dims, Strides(launch, 0));
    const T* a = Data<const T>(launch, 1) + OffsetAt(begin, last, launch.dims, Strides(launch, 1));
    for (u64 row = 0; row < end - begin; ++row) {
      const T value = a[(i64)row * step];
      for (u64 i = 0; i < each; ++i) out[row * each + i] = value;
    }
  }

  void Repeated(u64 begin, u64 end) {
    if (length == 2) return Repeat<2>(begin, end);
    if (length == 4) return Repeat<4>(begin, end);
    if (length == 8) return Repeat<8>(begin, end);
    Repeat<0>(begin, end);
  }

  void Range(u64 begin, u64 end) {
    const bool repeats = Repeats();
    if (!transposed && !repeats) return Stepped(begin, end);
    const u64 head = Min(end, (begin + length - 1) / length * length);
    Stepped(begin, head);
    const u64 run = Dim(launch, last - 1);
    u64 row = head / length;
    const u64 last_row = end / length;
    while (row < last_row) {
      const u64 stop = Min(last_row, (row / run + 1) * run);
      if (repeats) {
        Repeated(row, stop);
      } else {
        Groups(row, stop);
      }
      row = stop;
    }
    if (head < end) Stepped(last_row * length, end);
  }
};

template <class V, class In, class Out>
void Copy(const cw_launch& launch, u64 begin, u64 end, void*) {
  if (launch.rank == 0) {
    if (begin < end) *Data<Out>(launch, 0) = *Data<const Out>(launch, 1);
    return;
  }
  Copier<Out>(launch).Range(begin, end);
}

// Operand: out. params: the bits of the value.
template <class V, class In, class Out>
void Fill(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<1> rows(launch.rank, launch.dims, {Strides(launch, 0)});
  Out value;
  memcpy(&value, launch.params, sizeof value);  // little-endian: the low bytes
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    Out buffer[kBlock];
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    for (u64 i = 0; i < count; ++i) out[i] = value;
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LAYOUT_COPY_H_
