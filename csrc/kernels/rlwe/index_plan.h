// The layout of automorphism's prepared index map.
#ifndef CLOAKWORK_KERNELS_RLWE_INDEX_PLAN_H_
#define CLOAKWORK_KERNELS_RLWE_INDEX_PLAN_H_

#include "kernels/common.h"

namespace cw {
namespace {

// Neighbours that an automorphism in bit-reversed order keeps together: position i holds exponent
// index j = bitrev(i), and X -> X^g maps j to g j + (g - 1) / 2 mod N, whose lower bits depend only
// on the lower bits of j. Those are the upper bits of i: aligned groups of 8 positions go to
// aligned groups of 8, in some order inside.
constexpr u64 kGroup = 8;

// grouped: the map has this form. Then [n / 8] words of 8 bytes follow, the order inside each
// group, and [n / 8] u32, its source group; else [n] u32, the source of each position.
struct IndexMap {
  u64 grouped;
  u64 unused[7];  // the following data begins on a cache line

  const u64* Orders() const { return reinterpret_cast<const u64*>(this + 1); }
  const u32* Groups(u64 size) const {
    return reinterpret_cast<const u32*>(Orders() + size / kGroup);
  }
  const u32* Places() const { return reinterpret_cast<const u32*>(this + 1); }
};

inline u64 IndexMapBytes(u64 size) { return sizeof(IndexMap) + size * sizeof(u32); }

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_RLWE_INDEX_PLAN_H_
