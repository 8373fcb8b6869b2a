// Constants of Poseidon's rounds, arranged so that a partial round costs 2 t products rather than
// t^2 (eprint 2019/458, appendix B).
//
// Round constants of partial rounds that no S-box meets are moved to the next round. The matrix M =
// [m v; w N] of a partial round is diag(1, N) [m v; N^-1 w, 1]: the left factor commutes with the
// next S-box, which is on the first element alone, and joins the next M. So round i has the sparse
// matrix [m, v N^(i-1); N^-i w, 1], and the last one the dense remainder.
#ifndef CLOAKWORK_KERNELS_HASH_POSEIDON_CONSTANTS_H_
#define CLOAKWORK_KERNELS_HASH_POSEIDON_CONSTANTS_H_

#include "kernels/hash/grain.h"

namespace cw {
namespace {

// Offsets of the constants, in elements.
struct PoseidonLayout {
  u32 width, partial;

  constexpr explicit PoseidonLayout(u32 width_)
      : width(width_), partial(kPoseidonPartialRounds[width_ - kPoseidonMinWidth]) {}

  // Rows of t for each full round of a half.
  constexpr u32 FirstHalf() const { return 0; }
  constexpr u32 SecondHalf() const { return kPoseidonFullRounds / 2 * width; }
  // One for each partial round.
  constexpr u32 Partial() const { return kPoseidonFullRounds * width; }
  // t rows of t: of full rounds, and of the last partial round.
  constexpr u32 Dense() const { return Partial() + partial; }
  constexpr u32 LastPartial() const { return Dense() + width * width; }
  // For each partial round but the last: its first row, then its first column without m. They are
  // written last: until then their memory holds what the others are computed from.
  constexpr u32 Sparse() const { return LastPartial() + width * width; }
  constexpr u32 SparseSize() const { return 2 * width - 1; }
  constexpr u32 Size() const { return Sparse() + (partial - 1) * SparseSize(); }
};

// Whether the memory of the sparse matrices holds the constants of partial rounds as drawn, and two
// powers of N.
constexpr bool SparseHoldsOthers() {
  for (u32 width = kPoseidonMinWidth; width <= kPoseidonMaxWidth; ++width) {
    const PoseidonLayout layout(width);
    const u32 room = layout.Size() - layout.Sparse();
    if (layout.partial * width > room || 2 * (width - 1) * (width - 1) > room) return false;
  }
  return true;
}
static_assert(SparseHoldsOthers(), "constants of Poseidon are derived in their own memory");

// A matrix in rows of `pitch` elements.
struct PoseidonMatrix {
  Bn254Fr* data;
  u32 pitch;
  CW_INLINE Bn254Fr* operator[](u32 row) const { return data + row * pitch; }
};

// c = a b, n x n; c overlaps neither.
inline void MultiplyMatrices(u32 n, PoseidonMatrix a, PoseidonMatrix b, PoseidonMatrix c) {
  for (u32 i = 0; i < n; ++i) {
    for (u32 j = 0; j < n; ++j) {
      Bn254Fr sum = {};
      for (u32 k = 0; k < n; ++k) sum = Add(sum, Mul(a[i][k], b[k][j]));
      c[i][j] = sum;
    }
  }
}

// x = a^-1 x by Gauss and Jordan; overwrites a. No pivot is 0 for the matrices of any width.
inline void SolveMatrix(u32 n, PoseidonMatrix a, Bn254Fr* x) {
  for (u32 pivot = 0; pivot < n; ++pivot) {
    const Bn254Fr scale = Inverse(a[pivot][pivot]);
    for (u32 j = pivot; j < n; ++j) a[pivot][j] = Mul(a[pivot][j], scale);
    x[pivot] = Mul(x[pivot], scale);
    for (u32 i = 0; i < n; ++i) {
      if (i == pivot) continue;
      const Bn254Fr factor = a[i][pivot];
      for (u32 j = pivot; j < n; ++j) a[i][j] = Sub(a[i][j], Mul(factor, a[pivot][j]));
      x[i] = Sub(x[i], Mul(factor, x[pivot]));
    }
  }
}

// The Cauchy matrix 1 / (x_i + y_j) of the next 2 t numbers that are all different.
inline void DrawMatrix(u32 width, Grain& grain, PoseidonMatrix matrix) {
  Bn254Fr drawn[2 * kPoseidonMaxWidth];
  for (bool again = true; again;) {
    again = false;
    for (u32 i = 0; i < 2 * width; ++i) {
      drawn[i] = grain.Any();
      for (u32 j = 0; j < i; ++j) again |= Equal(drawn[i], drawn[j]);
    }
    for (u32 i = 0; i < width && !again; ++i) {
      for (u32 j = 0; j < width; ++j) {
        const Bn254Fr sum = Add(drawn[i], drawn[width + j]);
        again |= IsZero(sum);
        matrix[i][j] = Inverse(sum);
      }
    }
  }
}

// Draws the round constants into their places, those of partial rounds into `later`.
inline void DrawRounds(const PoseidonLayout& layout, Grain& grain, Bn254Fr* to, Bn254Fr* later) {
  const u32 half = kPoseidonFullRounds / 2 * layout.width;
  for (u32 i = 0; i < half; ++i) to[layout.FirstHalf() + i] = grain.Below();
  for (u32 i = 0; i < layout.partial * layout.width; ++i) later[i] = grain.Below();
  for (u32 i = 0; i < half; ++i) to[layout.SecondHalf() + i] = grain.Below();
}

// Moves the constants of partial rounds forward, from `drawn` into their places.
inline void MoveConstants(const PoseidonLayout& layout, PoseidonMatrix matrix,
                          const Bn254Fr* drawn, Bn254Fr* to) {
  Bn254Fr carried[kPoseidonMaxWidth] = {}, sum[kPoseidonMaxWidth];
  for (u32 round = 0; round <= layout.partial; ++round) {
    const Bn254Fr* own =
        round < layout.partial ? drawn + round * layout.width : to + layout.SecondHalf();
    for (u32 i = 0; i < layout.width; ++i) sum[i] = Add(own[i], carried[i]);
    if (round == layout.partial) {
      memcpy(to + layout.SecondHalf(), sum, layout.width * sizeof sum[0]);
      return;
    }
    to[layout.Partial() + round] = sum[0];
    for (u32 i = 0; i < layout.width; ++i) {
      carried[i] = {};
      for (u32 j = 1; j < layout.width; ++j) {
        carried[i] = Add(carried[i], Mul(matrix[i][j], sum[j]));
      }
    }
  }
}

// N^exponent in one of two matrices.
inline PoseidonMatrix PowerOf(u32 n, PoseidonMatrix minor, u32 exponent, PoseidonMatrix power,
                              PoseidonMatrix other) {
  for (u32 i = 0; i < n; ++i) memcpy(power[i], minor[i], n * sizeof(Bn254Fr));
  for (u32 bit = 31 - (u32)__builtin_clz(exponent); bit-- > 0;) {
    MultiplyMatrices(n, power, power, other);
    if ((exponent >> bit & 1) != 0) {
      MultiplyMatrices(n, other, minor, power);
    } else {
      const PoseidonMatrix squared = other;
      other = power, power = squared;
    }
  }
  return power;
}

// The first rows v N^i of the sparse matrices, forward, and their columns N^-(i + 1) w, backward
// from the last one.
inline void WriteSparse(const PoseidonLayout& layout, PoseidonMatrix matrix, PoseidonMatrix minor,
                        const Bn254Fr* last, Bn254Fr* sparse) {
  const u32 n = layout.width - 1, rounds = layout.partial - 1, size = layout.SparseSize();
  Bn254Fr *row = sparse, *column = sparse + (rounds - 1) * size + layout.width;
  memcpy(row + 1, matrix[0] + 1, n * sizeof *row);
  memcpy(column, last, n * sizeof *column);
  for (u32 round = 0; round + 1 < rounds; ++round, row += size, column -= size) {
    Bn254Fr *next = row + size, *former = column - size;
    for (u32 j = 0; j < n; ++j) {
      next[1 + j] = former[j] = {};
      for (u32 i = 0; i < n; ++i) {
        next[1 + j] = Add(next[1 + j], Mul(row[1 + i], minor[i][j]));
        former[j] = Add(former[j], Mul(minor[j][i], column[i]));
      }
    }
  }
  for (u32 round = 0; round < rounds; ++round) sparse[round * size] = matrix[0][0];
}

// The dense matrix of the last partial round, M diag(1, N^(partial - 1)), and the sparse ones.
inline void FactorMatrix(const PoseidonLayout& layout, PoseidonMatrix matrix, Bn254Fr* to) {
  const u32 n = layout.width - 1;
  Bn254Fr* sparse = to + layout.Sparse();
  const PoseidonMatrix minor = {matrix[1] + 1, matrix.pitch};
  const PoseidonMatrix power =
      PowerOf(n, minor, layout.partial - 1, {sparse, n}, {sparse + n * n, n});
  for (u32 i = 0; i < layout.width; ++i) {
    Bn254Fr* dense = to + layout.LastPartial() + i * layout.width;
    dense[0] = matrix[i][0];
    for (u32 j = 0; j < n; ++j) {
      dense[1 + j] = {};
      for (u32 k = 0; k < n; ++k) {
        dense[1 + j] = Add(dense[1 + j], Mul(matrix[i][1 + k], power[k][j]));
      }
    }
  }
  Bn254Fr last[kPoseidonMaxWidth];
  for (u32 i = 0; i < n; ++i) last[i] = matrix[1 + i][0];
  SolveMatrix(n, power, last);
  WriteSparse(layout, matrix, minor, last, sparse);
}

// All constants of a width, PoseidonLayout(width).Size() elements. Beside them it needs but a few
// rows of memory: a thread of a GPU runs it too.
inline void DerivePoseidon(u32 width, Bn254Fr* to) {
  const PoseidonLayout layout(width);
  Grain grain(width);
  Bn254Fr* drawn = to + layout.Sparse();
  const PoseidonMatrix matrix = {to + layout.Dense(), width};
  DrawRounds(layout, grain, to, drawn);
  DrawMatrix(width, grain, matrix);
  MoveConstants(layout, matrix, drawn, to);
  FactorMatrix(layout, matrix, to);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_POSEIDON_CONSTANTS_H_
