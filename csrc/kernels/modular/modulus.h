// Moduli with their Barrett constants, and the modulus of each element of a launch.
#ifndef CLOAKWORK_KERNELS_MODULAR_MODULUS_H_
#define CLOAKWORK_KERNELS_MODULAR_MODULUS_H_

#include "kernels/common.h"

namespace cw {
namespace {

constexpr u64 kModulusLimit = (u64)1 << 62;

// last = q - 1, and for L = bits(q): mu = floor(2^(L + 62) / q), shift = L - 2. A word that is not
// a modulus in [2, 2^62) gets last = 2^64 - 1, which fails every range check: exact code handles
// it.
struct Modulus {
  u64 q, last, mu, shift;
};

inline Modulus MakeModulus(i64 word) {
  const u64 q = (u64)word;
  if (q < 2 || q >= kModulusLimit) return {q, ~(u64)0, 0, 0};
  const u64 bits = 64 - (u64)__builtin_clzll(q);
  return {q, q - 1, (u64)(((u128)1 << (bits + 62)) / q), bits - 2};
}

// A word of memory as a modulus. Declarations accept only [2, 2^62); any other word was written
// after the check, by a thread that shares the memory. It becomes 2: results are then unspecified,
// but every division has a divisor.
inline u64 AnyModulus(i64 word) {
  return word >= 2 && (u64)word < kModulusLimit ? (u64)word : 2;
}

// Distinct moduli of a launch lie row-major over the axes along which the operand varies.
// strides receives, for each axis, the distance in that list. Returns its length.
inline u64 ModulusStrides(const cw_launch& launch, u32 operand, i64* strides) {
  const i64* own = Strides(launch, operand);
  u64 count = 1;
  for (u32 axis = launch.rank; axis-- > 0;) {
    const bool varies = own[axis] != 0 && launch.dims[axis] != 1;
    strides[axis] = varies ? (i64)count : 0;
    if (varies) count *= Dim(launch, axis);
  }
  return count;
}

// Calls body(index, word) for each distinct modulus, in order of the list.
template <class T, class Body>
CW_INLINE void ForEachModulus(const cw_launch& launch, u32 operand, Body&& body) {
  i64 strides[kMaxRank];
  const u64 count = ModulusStrides(launch, operand, strides);
  const i64* own = Strides(launch, operand);
  const T* data = Data<const T>(launch, operand);
  for (u64 i = 0; i < count; ++i) {
    i64 offset = 0;
    u64 rest = i;
    for (u32 axis = launch.rank; axis-- > 0;) {
      if (strides[axis] == 0) continue;
      offset += (i64)(rest % Dim(launch, axis)) * own[axis];
      rest /= Dim(launch, axis);
    }
    body(i, (i64)data[offset]);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_MODULUS_H_
