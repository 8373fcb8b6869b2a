// The prime fields: each prime p and its constants of Montgomery arithmetic.
//
// crates/algebra declares p, a generator g and the dtype; the compiler derives the rest. The root
// of unity of order n is g^((p - 1) / n).
#ifndef CLOAKWORK_KERNELS_FIELD_PRIMES_H_
#define CLOAKWORK_KERNELS_FIELD_PRIMES_H_

#include "kernels/common.h"

namespace cw {
namespace {

// A natural number of N words, the lowest first.
template <u32 N>
struct Words {
  u64 word[N];
};

// a + b; *carry receives the overflow.
template <u32 N>
constexpr CW_INLINE Words<N> AddWords(const Words<N>& a, const Words<N>& b, u64* carry) {
  Words<N> sum = {};
  u64 over = 0;
  for (u32 i = 0; i < N; ++i) {
    const u128 t = (u128)a.word[i] + b.word[i] + over;
    sum.word[i] = (u64)t;
    over = (u64)(t >> 64);
  }
  *carry = over;
  return sum;
}

// a - b; *borrow receives 1 where a < b.
template <u32 N>
constexpr CW_INLINE Words<N> SubWords(const Words<N>& a, const Words<N>& b, u64* borrow) {
  Words<N> difference = {};
  u64 under = 0;
  for (u32 i = 0; i < N; ++i) {
    const u128 t = (u128)a.word[i] - b.word[i] - under;
    difference.word[i] = (u64)t;
    under = (u64)(t >> 64) & 1;
  }
  *borrow = under;
  return difference;
}

template <u32 N>
constexpr CW_INLINE bool LessWords(const Words<N>& a, const Words<N>& b) {
  u64 borrow = 0;
  SubWords(a, b, &borrow);
  return borrow != 0;
}

// a where a < p, else a - p.
template <u32 N>
constexpr CW_INLINE Words<N> ReduceOnce(const Words<N>& a, const Words<N>& p) {
  u64 borrow = 0;
  const Words<N> less = SubWords(a, p, &borrow);
  Words<N> result = {};
  for (u32 i = 0; i < N; ++i) {
    result.word[i] = (a.word[i] & (0 - borrow)) | (less.word[i] & (borrow - 1));
  }
  return result;
}

// 2^power mod p; the top bit of p's highest word is free.
template <u32 N>
constexpr Words<N> PowerOfTwo(u32 power, const Words<N>& p) {
  Words<N> value = {};
  value.word[0] = 1;
  u64 carry = 0;
  for (u32 i = 0; i < power; ++i) value = ReduceOnce(AddWords(value, value, &carry), p);
  return value;
}

// -p^-1 mod 2^64 for an odd p: Newton's iteration doubles the correct bits of p p^-1 = 1.
constexpr u64 NegativeInverse(u64 p) {
  u64 inverse = p;  // correct to 3 bits
  for (int i = 0; i < 5; ++i) inverse *= 2 - p * inverse;
  return 0 - inverse;
}

// a / 2^shift, shift below 64.
template <u32 N>
constexpr Words<N> ShiftRight(const Words<N>& a, u32 shift) {
  Words<N> result = a;
  if (shift == 0) return result;
  for (u32 i = 0; i < N; ++i) {
    const u64 above = i + 1 < N ? a.word[i + 1] : 0;
    result.word[i] = a.word[i] >> shift | above << (64 - shift);
  }
  return result;
}

// a - small, for a.word[0] >= small.
template <u32 N>
constexpr Words<N> Minus(const Words<N>& a, u64 small) {
  Words<N> result = a;
  result.word[0] -= small;
  return result;
}

// Times 2^shift, cut into L words of 52 bits: the form that 52-bit multiply-add reads.
template <u32 L, u32 N>
constexpr Words<L> Cut52(const Words<N>& a, u32 shift = 0) {
  Words<L> result = {};
  for (u32 i = 0; i < N * 64; ++i) {
    const u32 to = i + shift;
    if (to < L * 52) result.word[to / 52] |= (a.word[i / 64] >> (i % 64) & 1) << (to % 52);
  }
  return result;
}

// The exponent of 2 in p - 1.
template <u32 N>
constexpr u32 TwoAdicity(const Words<N>& p) {
  u32 bits = 0;
  const Words<N> even = Minus(p, 1);
  while ((even.word[bits / 64] >> (bits % 64) & 1) == 0) ++bits;
  return bits;
}

// Constants of Montgomery arithmetic with R = 2^(64 N), derived from Prime::kModulus.
template <class Prime, u32 N>
struct Montgomery {
  static constexpr u32 kWords = N;
  static constexpr const Words<N>& Modulus() { return Prime::kModulus; }
  // R mod p, which is 1 in memory; R^2 mod p, which brings a number into memory's form.
  static constexpr Words<N> One() { return kOne<N>; }
  static constexpr Words<N> RSquared() { return kRSquared<N>; }

  // Templates, so that they are instantiated once Prime is complete.
  template <u32 M>
  static constexpr Words<M> kOne = PowerOfTwo<M>(64 * M, Prime::kModulus);
  template <u32 M>
  static constexpr Words<M> kRSquared = PowerOfTwo<M>(128 * M, Prime::kModulus);
  // -p^-1 mod 2^64, and mod 2^52.
  template <u32 M>
  static constexpr u64 kInverse64 = NegativeInverse(Prime::kModulus.word[0]);
  template <u32 M>
  static constexpr u64 kInverse52 = kInverse64<M> & (((u64)1 << 52) - 1);

  // For 52-bit arithmetic: the words of an element, R = 2^(52 kWords52), and the power of two by
  // which one operand of a product is multiplied to give memory's R.
  static constexpr u32 kWords52 = (64 * N + 51) / 52;
  static constexpr u32 kShift52 = 52 * kWords52 - 64 * N;
};

#define CW_PRIME(name, dtype, bits, two_adicity, generator, ...)                     \
  struct name##Prime : Montgomery<name##Prime, (bits + 63) / 64> {                   \
    static constexpr u32 kBits = bits, kTwoAdicity = two_adicity;                    \
    static constexpr u32 kGenerator = generator, kDtype = dtype;                     \
    static constexpr Words<(bits + 63) / 64> kModulus = {{__VA_ARGS__}};             \
  };                                                                                 \
  static_assert(TwoAdicity(name##Prime::kModulus) == two_adicity, "");
CW_PRIMES_64(CW_PRIME)
#undef CW_PRIME

// 2^64 - 2^32 + 1: elements are canonical words.
#define CW_PRIME(name, dtype, bits, two_adicity, generator, modulus)                 \
  struct name##Prime {                                                               \
    static constexpr u32 kBits = bits, kTwoAdicity = two_adicity;                    \
    static constexpr u32 kGenerator = generator, kDtype = dtype;                     \
    static constexpr u64 kModulus = modulus;                                         \
  };
CW_PRIMES_GOLDILOCKS(CW_PRIME)
#undef CW_PRIME

// Below 2^31: elements are words in Montgomery form, R = 2^32.
template <u32 modulus>
struct Montgomery32 {
  static constexpr u32 kModulus = modulus;
  static constexpr u32 kInverse32 = (u32)NegativeInverse(kModulus);  // -p^-1 mod 2^32
  static constexpr u32 kOne = (u32)(((u64)1 << 32) % kModulus);
  static constexpr u32 kRSquared = (u32)((u64)kOne * kOne % kModulus);
};
#define CW_PRIME(name, dtype, bits, two_adicity, generator, modulus)                 \
  struct name##Prime : Montgomery32<modulus> {                                       \
    static constexpr u32 kBits = bits, kTwoAdicity = two_adicity;                    \
    static constexpr u32 kGenerator = generator, kDtype = dtype;                     \
  };
CW_PRIMES_32(CW_PRIME)
#undef CW_PRIME

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_PRIMES_H_
