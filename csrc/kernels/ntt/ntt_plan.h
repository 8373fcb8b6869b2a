// What a transform derives from its constants: one block of memory a limb.
#ifndef CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_
#define CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_

#include "kernels/modular/arithmetic.h"
#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// How twiddles are written: the arithmetic that reads them. An instruction set asks for the fastest
// one that it has for moduli below 2^50; others, and short rows, have 64-bit words.
enum class TwiddleForm : u64 {
  kWord64,    // w, floor(w * 2^64 / q)
  kWord52,    // w, floor(w * 2^52 / q); q < 2^50
  kBinary64,  // w in [-q / 2, q / 2], w / q as binary64; q < 2^50
};

// Rows below this size are too short for vectors.
constexpr u64 kLeastVectorSize = 64;

// What the permutation operand says. Any other one is read where it lies.
enum class RowOrder : u64 { kOfTransform, kPermuted };

// A factor and what its form keeps beside it.
struct TwiddleWords {
  u64 value, companion;
};

// The head of a block. scale is what the inverse multiplies results with, last is that times the
// twiddle of the last butterflies.
struct NttLimb {
  u64 q;
  TwiddleForm form;
  RowOrder order;
  u64 reserved;
  TwiddleWords scale, last;
};
static_assert(sizeof(NttLimb) == kAlignment, "twiddles follow, aligned");

// Twiddles in the order of the given table, but for those of stages inside vectors: prepare.cc.
struct Twiddles {
  const u64* value;
  const u64* companion;
};

// Blocks of constants, one a limb: NttLimb, [size] twiddles, [size] companions.
struct NttPlan {
  u64 limbs;
  u64 size;

  // Axes: l, r, k, m.
  explicit NttPlan(const cw_launch& launch) : limbs(Dim(launch, 2)), size(Dim(launch, 3)) {}

  u64 BlockBytes() const { return sizeof(NttLimb) + RoundUp(2 * size * sizeof(u64)); }

  const NttLimb& Limb(const cw_launch& launch, u64 limb) const {
    return *static_cast<const NttLimb* const*>(launch.prepared)[limb];
  }
  Twiddles Table(const NttLimb& limb) const {
    const u64* first = reinterpret_cast<const u64*>(&limb + 1);
    return {first, first + size};
  }
};

// A word to [0, q). Digits may be negative, and are then small.
CW_INLINE u64 CanonicalWord(i64 word, u64 q) {
  const u64 lifted = (u64)word + (q & (u64)(word >> 63));
  return __builtin_expect(lifted < q, 1) ? lifted : CanonicalRemainder(word, q);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_
