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

  explicit PoseidonLayout(u32 width_)
      : width(width_), partial(kPoseidonPartialRounds[width_ - kPoseidonMinWidth]) {}

  // Rows of t for each full round of a half.
  u32 FirstHalf() const { return 0; }
  u32 SecondHalf() const { return kPoseidonFullRounds / 2 * width; }
  // One for each partial round.
  u32 Partial() const { return kPoseidonFullRounds * width; }
  // t rows of t: of full rounds, and of the last partial round.
  u32 Dense() const { return Partial() + partial; }
  u32 LastPartial() const { return Dense() + width * width; }
  // For each partial round but the last: its first row, then its first column without m.
  u32 Sparse() const { return LastPartial() + width * width; }
  u32 SparseSize() const { return 2 * width - 1; }
  u32 Size() const { return Sparse() + (partial - 1) * SparseSize(); }
};

using PoseidonMatrix = Bn254Fr[kPoseidonMaxWidth][kPoseidonMaxWidth];

// c = a b, n x n; c overlaps neither.
inline void MultiplyMatrices(u32 n, const PoseidonMatrix& a, const PoseidonMatrix& b,
                             PoseidonMatrix& c) {
  for (u32 i = 0; i < n; ++i) {
    for (u32 j = 0; j < n; ++j) {
      Bn254Fr sum = {};
      for (u32 k = 0; k < n; ++k) sum = Add(sum, Mul(a[i][k], b[k][j]));
      c[i][j] = sum;
    }
  }
}

// The inverse by Gauss and Jordan; overwrites a. Every minor of a Cauchy matrix is invertible, so
// no pivot is 0.
inline void InvertMatrix(u32 n, PoseidonMatrix& a, PoseidonMatrix& inverse) {
  for (u32 i = 0; i < n; ++i) {
    for (u32 j = 0; j < n; ++j) inverse[i][j] = i == j ? OneOf<Bn254Fr>() : Bn254Fr{};
  }
  for (u32 pivot = 0; pivot < n; ++pivot) {
    const Bn254Fr scale = Inverse(a[pivot][pivot]);
    for (u32 j = 0; j < n; ++j) {
      a[pivot][j] = Mul(a[pivot][j], scale);
      inverse[pivot][j] = Mul(inverse[pivot][j], scale);
    }
    for (u32 i = 0; i < n; ++i) {
      if (i == pivot) continue;
      const Bn254Fr factor = a[i][pivot];
      for (u32 j = 0; j < n; ++j) {
        a[i][j] = Sub(a[i][j], Mul(factor, a[pivot][j]));
        inverse[i][j] = Sub(inverse[i][j], Mul(factor, inverse[pivot][j]));
      }
    }
  }
}

// The Cauchy matrix 1 / (x_i + y_j) of the next 2 t numbers that are all different.
inline void DrawMatrix(u32 width, Grain& grain, PoseidonMatrix& matrix) {
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

// Draws the round constants into their places, those of partial rounds moved forward.
inline void DrawRounds(const PoseidonLayout& layout, Grain& grain, Bn254Fr* to,
                       Bn254Fr (&later)[kPoseidonMaxWidth][128]) {
  const u32 half = kPoseidonFullRounds / 2 * layout.width;
  for (u32 i = 0; i < half; ++i) to[layout.FirstHalf() + i] = grain.Below();
  for (u32 round = 0; round < layout.partial; ++round) {
    for (u32 i = 0; i < layout.width; ++i) later[i][round] = grain.Below();
  }
  for (u32 i = 0; i < half; ++i) to[layout.SecondHalf() + i] = grain.Below();
}

inline void MoveConstants(const PoseidonLayout& layout, const PoseidonMatrix& matrix,
                          const Bn254Fr (&drawn)[kPoseidonMaxWidth][128], Bn254Fr* to) {
  Bn254Fr carried[kPoseidonMaxWidth] = {};
  for (u32 round = 0; round <= layout.partial; ++round) {
    Bn254Fr sum[kPoseidonMaxWidth] = {};
    for (u32 i = 0; i < layout.width; ++i) {
      const Bn254Fr own =
          round < layout.partial ? drawn[i][round] : to[layout.SecondHalf() + i];
      sum[i] = Add(own, carried[i]);
    }
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

// The sparse matrices, and the dense one of the last partial round: M diag(1, N^(partial - 1)).
inline void FactorMatrix(const PoseidonLayout& layout, const PoseidonMatrix& matrix, Bn254Fr* to) {
  const u32 n = layout.width - 1;
  PoseidonMatrix minor, inverse, power, product;
  for (u32 i = 0; i < n; ++i) {
    for (u32 j = 0; j < n; ++j) minor[i][j] = product[i][j] = matrix[i + 1][j + 1];
  }
  InvertMatrix(n, product, inverse);
  Bn254Fr row[kPoseidonMaxWidth], column[kPoseidonMaxWidth], next[kPoseidonMaxWidth];
  for (u32 i = 0; i < n; ++i) row[i] = matrix[0][i + 1], column[i] = matrix[i + 1][0];
  for (u32 round = 0; round + 1 < layout.partial; ++round) {
    Bn254Fr* sparse = to + layout.Sparse() + round * layout.SparseSize();
    sparse[0] = matrix[0][0];
    memcpy(sparse + 1, row, n * sizeof row[0]);
    for (u32 i = 0; i < n; ++i) {
      next[i] = {};
      for (u32 j = 0; j < n; ++j) next[i] = Add(next[i], Mul(inverse[i][j], column[j]));
    }
    memcpy(column, next, n * sizeof row[0]);
    memcpy(sparse + layout.width, column, n * sizeof row[0]);
    for (u32 j = 0; j < n; ++j) {
      next[j] = {};
      for (u32 i = 0; i < n; ++i) next[j] = Add(next[j], Mul(row[i], minor[i][j]));
    }
    memcpy(row, next, n * sizeof row[0]);
  }
  memcpy(power, minor, sizeof power);
  for (u32 bit = 31 - (u32)__builtin_clz(layout.partial - 1); bit-- > 0;) {
    MultiplyMatrices(n, power, power, product);
    memcpy(power, product, sizeof power);
    if (((layout.partial - 1) >> bit & 1) == 0) continue;
    MultiplyMatrices(n, power, minor, product);
    memcpy(power, product, sizeof power);
  }
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
}

// All constants of a width, PoseidonLayout(width).Size() elements.
inline void DerivePoseidon(u32 width, Bn254Fr* to) {
  const PoseidonLayout layout(width);
  Grain grain(width);
  PoseidonMatrix matrix;
  Bn254Fr drawn[kPoseidonMaxWidth][128];
  DrawRounds(layout, grain, to, drawn);
  DrawMatrix(width, grain, matrix);
  for (u32 i = 0; i < width; ++i) {
    memcpy(to + layout.Dense() + i * width, matrix[i], width * sizeof matrix[i][0]);
  }
  MoveConstants(layout, matrix, drawn, to);
  FactorMatrix(layout, matrix, to);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_POSEIDON_CONSTANTS_H_
