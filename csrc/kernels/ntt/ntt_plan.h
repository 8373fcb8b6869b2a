// Twiddle tables of a transform: where they lie in prepared.
#ifndef CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_
#define CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_

#include "kernels/modular/arithmetic.h"

namespace cw {
namespace {

// scale is n^-1 with its Shoup companion; inverse transforms alone use it.
struct NttModulus {
  u64 q, scale, scale_shoup, reserved;
};

// Twiddles in [0, q) in the order of the given table, each with floor(twiddle * 2^64 / q).
struct Twiddles {
  const u64* value;
  const u64* shoup;
};

// [limbs] NttModulus; [limbs, size] twiddles; [limbs, size] companions; [size] permutation
// (unused where there is none: sizes must not depend on pointers).
struct NttPlan {
  u64 rows;  // r
  u64 limbs;
  u64 size;
  u64 tables;  // byte offsets
  u64 permutation;
  u64 bytes;

  // Axes: l, r, k, m.
  explicit NttPlan(const cw_launch& launch)
      : rows(Dim(launch, 1)), limbs(Dim(launch, 2)), size(Dim(launch, 3)) {
    tables = RoundUp(limbs * sizeof(NttModulus));
    permutation = RoundUp(tables + 2 * limbs * size * sizeof(u64));
    bytes = permutation + size * sizeof(u32);
  }

  template <class T, class Prepared>
  static T* At(Prepared* prepared, u64 offset) {
    return reinterpret_cast<T*>(reinterpret_cast<u64>(prepared) + offset);
  }
  const NttModulus& ModulusOf(const void* prepared, u64 limb) const {
    return At<const NttModulus>(prepared, 0)[limb];
  }
  Twiddles TwiddlesOf(const void* prepared, u64 limb) const {
    const u64* first = At<const u64>(prepared, tables);
    return {first + limb * size, first + (limbs + limb) * size};
  }
  const u32* Permutation(const void* prepared) const {
    return At<const u32>(prepared, permutation);
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_NTT_PLAN_H_
