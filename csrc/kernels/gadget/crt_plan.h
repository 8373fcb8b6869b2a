// Constants of g_decomp_full_q: their layout in prepared.
#ifndef CLOAKWORK_KERNELS_GADGET_CRT_PLAN_H_
#define CLOAKWORK_KERNELS_GADGET_CRT_PLAN_H_

#include "kernels/modular/arithmetic.h"

namespace cw {
namespace {

// Units computed together, so that their dependency chains overlap.
constexpr u64 kCrtLanes = 32;

// cover: the least multiple of q that is at least 2^62.
struct CrtModulus {
  u64 q, cover;
};

// q[j]^-1 mod q[i], with its Shoup companion.
struct CrtInverse {
  u64 value, shoup;
};

// [limbs] CrtModulus, then CrtInverse for each pair j < i.
struct CrtPlan {
  u64 limbs;
  u64 inverses;  // byte offset
  u64 bytes;

  // Axes: x, y, k.
  explicit CrtPlan(const cw_launch& launch) : limbs(Dim(launch, 2)) {
    inverses = RoundUp(limbs * sizeof(CrtModulus));
    bytes = inverses + limbs * (limbs - (limbs != 0)) / 2 * sizeof(CrtInverse);
  }
  static const CrtModulus* Moduli(const void* prepared) {
    return static_cast<const CrtModulus*>(prepared);
  }
  const CrtInverse* Inverses(const void* prepared) const {
    return reinterpret_cast<const CrtInverse*>(static_cast<const char*>(prepared) + inverses);
  }
  static u64 PairIndex(u64 i, u64 j) { return i * (i - 1) / 2 + j; }
  CrtInverse Inverse(const void* prepared, u64 i, u64 j) const {
    return Inverses(prepared)[PairIndex(i, j)];
  }
  // v, words and a row of zeros, by lane.
  u64 ScratchBytes() const { return (2 * limbs + 1) * kCrtLanes * sizeof(u64); }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_GADGET_CRT_PLAN_H_
