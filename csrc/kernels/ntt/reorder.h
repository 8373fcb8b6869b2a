// Rows of tensors whose elements are not contiguous, or not in the order of a transform.
#ifndef CLOAKWORK_KERNELS_NTT_REORDER_H_
#define CLOAKWORK_KERNELS_NTT_REORDER_H_

#include "kernels/ntt/ntt_plan.h"
#include "kernels/ntt/unroll.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// The layout of a row, and the permutation operand if used: element i is at position index[i].
template <class T>
struct Row {
  T* data;
  i64 step;
  RowOrder order;
  const i64* index;
  i64 index_step;

  bool Plain() const { return step == 1 && order == RowOrder::kOfTransform; }
  bool Tiles(u64 n) const {
    return step == 1 && order == RowOrder::kBitReversed && n >= kLeastVectorSize;
  }
};

// The number that follows in bit-reversed order of 0 .. 2 * half.
constexpr u64 NextReversed(u64 reversed, u64 half) {
  for (; (reversed & half) != 0; half /= 2) reversed ^= half;
  return reversed | half;
}

constexpr u64 Reversed(int i, u64 count) {
  return i == 0 ? 0 : NextReversed(Reversed(i - 1, count), count / 2);
}

// to[i] = from[bits of i reversed] (+ q where negative), i < n = 2^k >= kLanes^2: square tiles, so
// that each line is touched once. Place (a, m, b) of sizes kLanes, n / kLanes^2 and kLanes is
// (b, m, a), each reversed.
template <class V, class From, class To>
void CopyBitReversed(const From* from, To* to, u64 n, u64 q) {
  constexpr u64 kLanes = V::kLanes;
  const u64 middle = n / (kLanes * kLanes), step = n / kLanes;
  for (u64 m = 0, reversed = 0; m < middle; ++m, reversed = NextReversed(reversed, middle / 2)) {
    V r[kLanes];
    Unroll<V::kLanes>(CW_UNROLLED(i) {
      const V word = V::Load(from + Reversed(i, kLanes) * step + reversed * kLanes);
      r[i] = AddIfNegative(word, V::Set(q));
    });
    Transpose(r);
    Unroll<V::kLanes>(CW_UNROLLED(i) {
      r[i].Store(to + Reversed(i, kLanes) * step + m * kLanes);
    });
  }
}

// Maps small negative words to [0, q).
CW_INLINE u64 Lifted(i64 word, u64 q) { return AddIfNegative(U64x1{(u64)word}, U64x1{q}).v; }

// Loads the words of a row to x: lifted, contiguous, in the order of the transform.
template <class V, class In>
void LoadRow(u64* x, const Row<const In>& row, u64 n, u64 q) {
  if (row.Tiles(n)) {
    CopyBitReversed<V>(row.data, x, n, q);
  } else if (row.order == RowOrder::kOfTransform) {
    for (u64 i = 0; i < n; ++i) x[i] = Lifted(row.data[(i64)i * row.step], q);
  } else {
    for (u64 i = 0; i < n; ++i) {
      x[i] = Lifted(row.data[row.index[(i64)i * row.index_step] * row.step], q);
    }
  }
}

template <class V, class Out>
void StoreRow(const Row<Out>& row, const u64* x, u64 n) {
  if (row.Tiles(n)) {
    CopyBitReversed<V>(x, row.data, n, 0);
  } else if (row.order == RowOrder::kOfTransform) {
    for (u64 i = 0; i < n; ++i) row.data[(i64)i * row.step] = (Out)x[i];
  } else {
    for (u64 i = 0; i < n; ++i) {
      row.data[(i64)i * row.step] = (Out)x[row.index[(i64)i * row.index_step]];
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_REORDER_H_
