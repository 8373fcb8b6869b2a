// Transposes of elements of 4 and 8 bytes, in vectors of four.
#ifndef CLOAKWORK_KERNELS_LAYOUT_SQUARES_H_
#define CLOAKWORK_KERNELS_LAYOUT_SQUARES_H_

#include "kernels/common.h"

namespace cw {
namespace {

// Vectors that the compiler has to take apart cost more than single elements.
#if defined(__AVX2__)
template <class T>
constexpr bool kHasSquares = sizeof(T) == 4 || sizeof(T) == 8;
#else
template <class T>
constexpr bool kHasSquares = false;
#endif

template <u64 bytes>
struct FourWords {
  typedef u64 Vector __attribute__((vector_size(32)));
};
template <>
struct FourWords<4> {
  typedef u32 Vector __attribute__((vector_size(16)));
};

// out[i][j] = a[j][i] for i, j < 4; neighbours have step 1, and rows of both the steps given.
template <class T>
CW_INLINE void TransposeFour(T* out, i64 out_step, const T* a, i64 a_step) {
  using Vector = typename FourWords<sizeof(T)>::Vector;
  Vector row[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) memcpy(&row[i], a + i * a_step, sizeof(Vector));
  const Vector even = __builtin_shufflevector(row[0], row[1], 0, 4, 2, 6);
  const Vector odd = __builtin_shufflevector(row[0], row[1], 1, 5, 3, 7);
  const Vector even_low = __builtin_shufflevector(row[2], row[3], 0, 4, 2, 6);
  const Vector odd_low = __builtin_shufflevector(row[2], row[3], 1, 5, 3, 7);
  const Vector column[4] = {__builtin_shufflevector(even, even_low, 0, 1, 4, 5),
                            __builtin_shufflevector(odd, odd_low, 0, 1, 4, 5),
                            __builtin_shufflevector(even, even_low, 2, 3, 6, 7),
                            __builtin_shufflevector(odd, odd_low, 2, 3, 6, 7)};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) memcpy(out + i * out_step, &column[i], sizeof(Vector));
}

// out[i][j] = a[j][i] for i < rows, j < columns. Squares of eight: whole lines of 64 bytes.
template <class T>
void TransposeSquares(T* out, i64 out_step, const T* a, i64 a_step, u64 rows, u64 columns) {
  constexpr u64 kSide = 8;
  const u64 whole = columns / kSide * kSide;
  for (u64 i = 0; i < rows; i += kSide) {
    const u64 own = Min(kSide, rows - i);
    const u64 squares = own == kSide ? whole : 0;
    for (u64 j = 0; j < squares; j += kSide) {
#pragma GCC unroll 2
      for (u64 x = 0; x < kSide; x += 4) {
#pragma GCC unroll 2
        for (u64 y = 0; y < kSide; y += 4) {
          TransposeFour(out + (i64)(i + x) * out_step + (i64)(j + y), out_step,
                        a + (i64)(j + y) * a_step + (i64)(i + x), a_step);
        }
      }
    }
    for (u64 x = i; x < i + own; ++x) {
      for (u64 j = squares; j < columns; ++j) {
        out[(i64)x * out_step + (i64)j] = a[(i64)j * a_step + (i64)x];
      }
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LAYOUT_SQUARES_H_
