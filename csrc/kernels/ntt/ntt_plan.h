// The constants of a transform: one block of memory for each limb.
#ifndef CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_
#define CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_

#include "kernels/modular/arithmetic.h"
#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// The form of twiddles, for the arithmetic that reads them. An instruction set uses its fastest
// form for moduli below 2^50; other moduli, and short rows, use 64-bit words.
enum class TwiddleForm : u64 {
  kWord64,    // w, floor(w * 2^64 / q)
  kWord52,    // w, floor(w * 2^52 / q); q < 2^50
  kBinary64,  // w in [-q / 2, q / 2], w / q as binary64; q < 2^50
};

// Rows below this size are too short for vectors.
constexpr u64 kLeastVectorSize = 64;

// The meaning of the permutation operand; for kPermuted it is read in place.
enum class RowOrder : u64 { kOfTransform, kBitReversed, kPermuted };

// A factor and the companion that its form keeps.
struct TwiddleWords {
  u64 value, companion;
};

// floor(w * 2^64 / q) for many w < q, by a reciprocal: Moeller and Granlund 2011, algorithm 4 with
// a low word of 0. d = q * 2^shift has its top bit set, reciprocal = floor((2^128 - 1) / d) - 2^64.
struct Quotients {
  u64 d, shift, reciprocal;

  explicit Quotients(u64 q)
      : d(q << __builtin_clzll(q)),
        shift((u64)__builtin_clzll(q)),
        reciprocal((u64)(~(u128)0 / d)) {}

  u64 Of(u64 w) const {
    const u64 u = w << shift;
    const u128 product = (u128)reciprocal * u + ((u128)u << 64);
    u64 quotient = (u64)(product >> 64) + 1;
    const u64 rest = 0 - quotient * d;
    if (rest > (u64)product) return quotient - 1;
    return quotient + (rest >= d ? 1 : 0);
  }
};

// The head of a block.
struct NttLimb {
  u64 q;
  TwiddleForm form;
  Quotients quotients;
  RowOrder order;
  u64 reserved[2];

  NttLimb(u64 modulus, TwiddleForm written, RowOrder rows)
      : q(modulus), form(written), quotients(modulus), order(rows), reserved{0, 0} {}

  // A factor in [0, q) in the form that the limb's arithmetic reads.
  TwiddleWords Words(u64 w) const {
    switch (form) {
      case TwiddleForm::kWord64:
        return {w, quotients.Of(w)};
      case TwiddleForm::kWord52:
        return {w, quotients.Of(w) >> 12};
      case TwiddleForm::kBinary64:
        break;
    }
    const double centred = w > q / 2 ? -(double)(q - w) : (double)w;
    return {BitsOf(centred), BitsOf(centred / (double)q)};
  }
  // The factor in [0, q) of these words.
  u64 Factor(u64 value) const {
    if (form != TwiddleForm::kBinary64) return value;
    double centred;
    memcpy(&centred, &value, sizeof centred);
    return centred < 0 ? q - (u64)-centred : (u64)centred;
  }

  static u64 BitsOf(double x) {
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
};
static_assert(sizeof(NttLimb) == kAlignment, "twiddles follow, aligned");

// Twiddles in the order of the given table, except for stages inside vectors: prepare.cc.
struct Twiddles {
  const u64* value;
  const u64* companion;
};

// A block of constants: NttLimb, [size] twiddles, [size] companions.
CW_INLINE u64 LimbBytes(u64 size) { return sizeof(NttLimb) + RoundUp(2 * size * sizeof(u64)); }

CW_INLINE Twiddles TableOf(const NttLimb& limb, u64 size) {
  const u64* first = reinterpret_cast<const u64*>(&limb + 1);
  return {first, first + size};
}

CW_INLINE const NttLimb& LimbOf(const cw_launch& launch, u64 limb) {
  return *static_cast<const NttLimb* const*>(launch.prepared)[limb];
}

// The factors of sums and of differences in the last butterflies of an inverse.
struct LastFactors {
  TwiddleWords scale, twiddle;
};

// A word to [0, q). Digits may be negative; then their magnitude is small.
CW_INLINE u64 CanonicalWord(i64 word, u64 q) {
  const u64 lifted = (u64)word + (q & (u64)(word >> 63));
  return __builtin_expect(lifted < q, 1) ? lifted : CanonicalRemainder(word, q);
}

// The scale is an operand of the launch, not of the tables: one table serves all of them.
inline LastFactors FactorsOf(const NttLimb& limb, const Twiddles& table, u64 size, i64 scale) {
  const u64 factor = CanonicalWord(scale, limb.q);
  if (size < 2) return {limb.Words(factor), {0, 0}};
  const u64 twiddle = limb.Factor(table.value[1]);
  return {limb.Words(factor), limb.Words((u64)((u128)factor * twiddle % limb.q))};
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_
