// The layout of modmul_axis_sum's prepared constants.
#ifndef CLOAKWORK_KERNELS_MODULAR_AXIS_SUM_PLAN_H_
#define CLOAKWORK_KERNELS_MODULAR_AXIS_SUM_PLAN_H_

#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// Units of a chunk.
constexpr u64 kSumChunk = 128;
// Distance of a tile's rows: a line more than their length, so that they spread over cache sets.
constexpr u64 kSumTileStep = kSumChunk + 8;
// Tiles of a and b, at 8 bytes an element; or the sums and the tile of a narrow chunk, which are
// smaller.
constexpr u64 kAxisSumScratchBytes = 2 * kSumTerms * kSumTileStep * sizeof(u64);

// permuted: there is a permutation, and it is not the identity.
struct AxisSumHeader {
  u64 permuted;
  u64 unused[7];
};

// An AxisSumHeader, a list of SumModulus, then the inverse permutation (unused without a
// permutation: sizes must not depend on pointers).
struct AxisSumPlan {
  u64 size;     // n
  u64 moduli;   // 1, or k
  u64 inverse;  // byte offset of the inverse permutation
  u64 bytes;

  explicit AxisSumPlan(const cw_launch& launch) {
    i64 strides[kMaxRank];
    size = Dim(launch, 2);
    moduli = ModulusStrides(launch, 3, strides);
    inverse = sizeof(AxisSumHeader) + RoundUp(moduli * sizeof(SumModulus));
    bytes = inverse + size * sizeof(u32);
  }
  static AxisSumHeader* Header(void* prepared) { return static_cast<AxisSumHeader*>(prepared); }
  static SumModulus* Moduli(void* prepared) {
    return reinterpret_cast<SumModulus*>(Header(prepared) + 1);
  }
  u32* Inverse(void* prepared) const {
    return reinterpret_cast<u32*>(static_cast<char*>(prepared) + inverse);
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_AXIS_SUM_PLAN_H_
