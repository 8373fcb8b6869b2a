// Elements of the prime fields, one at a time.
//
// Every element is reduced, in [0, p), before and after each function. The inverse of zero is zero.
// Nothing is constant-time: branches depend on the data of a prover.
#ifndef CLOAKWORK_KERNELS_FIELD_SCALAR_H_
#define CLOAKWORK_KERNELS_FIELD_SCALAR_H_

#include "kernels/field/adx.h"
#include "kernels/field/chains.h"
#include "kernels/field/divsteps.h"
#include "kernels/field/primes.h"

namespace cw {
namespace {

// An element of words in Montgomery form, as stored in memory.
template <class P>
struct Fp {
  using Prime = P;
  static constexpr u32 kWords = P::kWords;
  Words<kWords> value;
};
// A canonical word.
struct Goldilocks {
  using Prime = GoldilocksPrime;
  static constexpr u32 kWords = 1;
  u64 value;
};
// A word in Montgomery form.
template <class P>
struct Fp32 {
  using Prime = P;
  static constexpr u32 kWords = 1;
  u32 value;
};
#define CW_FIELD_TYPE(name, ...) using name = Fp<name##Prime>;
CW_PRIMES_64(CW_FIELD_TYPE)
#undef CW_FIELD_TYPE
#define CW_FIELD_TYPE(name, ...) using name = Fp32<name##Prime>;
CW_PRIMES_32(CW_FIELD_TYPE)
#undef CW_FIELD_TYPE

// a b / 2^(64 N) mod p, below 2p, for a below p and b below 2^(64 N). CIOS; see adx.h.
template <class Prime, u32 N>
CW_LARGE Words<N> MulLazy(const Words<N>& a, const Words<N>& b) {
#if defined(CW_HAS_ADX)
  return MulAdx<Prime>(a, b);
#elif defined(CW_HAS_PTX)
  return MulPtx<Prime>(a, b);
#else
  constexpr Words<N> p = Prime::kModulus;
  u64 t[N] = {};
#pragma GCC unroll 6
  for (u32 i = 0; i < N; ++i) {
    u128 product = (u128)a.word[0] * b.word[i] + t[0];
    const u64 quotient = (u64)product * Prime::template kInverse64<N>;
    u64 carry = (u64)(product >> 64);
    u64 fold = (u64)(((u128)quotient * p.word[0] + (u64)product) >> 64);
#pragma GCC unroll 6
    for (u32 j = 1; j < N; ++j) {
      product = (u128)a.word[j] * b.word[i] + t[j] + carry;
      carry = (u64)(product >> 64);
      const u128 folded = (u128)quotient * p.word[j] + (u64)product + fold;
      t[j - 1] = (u64)folded;
      fold = (u64)(folded >> 64);
    }
    t[N - 1] = carry + fold;
  }
  Words<N> result;
  for (u32 i = 0; i < N; ++i) result.word[i] = t[i];
  return result;
#endif
}

template <class P>
CW_INLINE Fp<P> Zero(const Fp<P>*) {
  return {};
}
template <class P>
CW_INLINE Fp<P> One(const Fp<P>*) {
  return {P::One()};
}
template <class P>
CW_INLINE bool Equal(const Fp<P>& a, const Fp<P>& b) {
  u64 different = 0;
  for (u32 i = 0; i < P::kWords; ++i) different |= a.value.word[i] ^ b.value.word[i];
  return different == 0;
}
template <class P>
CW_INLINE bool IsZero(const Fp<P>& a) {
  u64 bits = 0;
  for (u32 i = 0; i < P::kWords; ++i) bits |= a.value.word[i];
  return bits == 0;
}
template <class P>
CW_INLINE Fp<P> Add(const Fp<P>& a, const Fp<P>& b) {
  return {Reduce<P>(Plus(a.value, b.value))};  // fits: the top bit of p is free
}
template <class P>
CW_INLINE Fp<P> Sub(const Fp<P>& a, const Fp<P>& b) {
  u64 below = 0;
  const Words<P::kWords> difference = Difference(a.value, b.value, &below);
  Words<P::kWords> p = P::kModulus;
#pragma GCC unroll 6
  for (u32 i = 0; i < P::kWords; ++i) p.word[i] &= below;
  return {Plus(difference, p)};
}
template <class P>
CW_INLINE Fp<P> Neg(const Fp<P>& a) {
  return Sub(Fp<P>{}, a);
}
template <class P>
CW_INLINE Fp<P> Mul(const Fp<P>& a, const Fp<P>& b) {
  return {Reduce<P>(MulLazy<P>(a.value, b.value))};
}
// The element of a number below 2^(64 words), reduced or not; and the number of an element.
template <class P>
CW_INLINE Fp<P> FromCanonical(const Words<P::kWords>& number, const Fp<P>*) {
  return {Reduce<P>(MulLazy<P>(P::RSquared(), number))};
}
template <class P>
CW_INLINE Words<P::kWords> ToCanonical(const Fp<P>& a) {
  Words<P::kWords> one = {};
  one.word[0] = 1;
  return Reduce<P>(MulLazy<P>(a.value, one));
}

CW_INLINE Goldilocks Zero(const Goldilocks*) { return {0}; }
CW_INLINE Goldilocks One(const Goldilocks*) { return {1}; }
CW_INLINE bool Equal(Goldilocks a, Goldilocks b) { return a.value == b.value; }
CW_INLINE bool IsZero(Goldilocks a) { return a.value == 0; }
CW_INLINE Goldilocks Add(Goldilocks a, Goldilocks b) {
  constexpr u64 p = GoldilocksPrime::kModulus;
  const u64 below = p - b.value;  // a + b - p = a - below
  return {a.value >= below ? a.value - below : a.value + b.value};
}
CW_INLINE Goldilocks Sub(Goldilocks a, Goldilocks b) {
  const u64 difference = a.value - b.value;
  return {a.value >= b.value ? difference : difference + GoldilocksPrime::kModulus};
}
CW_INLINE Goldilocks Neg(Goldilocks a) {
  return {a.value == 0 ? 0 : GoldilocksPrime::kModulus - a.value};
}
// Reduces 128 bits: 2^64 = 2^32 - 1 and 2^96 = -1 mod p.
CW_INLINE Goldilocks ReduceWide(u64 low, u64 high) {
  constexpr u64 p = GoldilocksPrime::kModulus, kEpsilon = 0xffffffff;  // 2^64 mod p
  const u64 top = high >> 32, middle = (high & kEpsilon) * kEpsilon;
  u64 t = low - top;
  if (low < top) t -= kEpsilon;  // the word wrapped: 2^64 too much
  u64 sum = t + middle;
  if (sum < t) sum += kEpsilon;
  return {sum >= p ? sum - p : sum};
}
CW_INLINE Goldilocks Mul(Goldilocks a, Goldilocks b) {
  const u128 product = (u128)a.value * b.value;
  return ReduceWide((u64)product, (u64)(product >> 64));
}
CW_INLINE Goldilocks FromCanonical(const Words<1>& number, const Goldilocks*) {
  constexpr u64 p = GoldilocksPrime::kModulus;
  return {number.word[0] >= p ? number.word[0] - p : number.word[0]};
}
CW_INLINE Words<1> ToCanonical(Goldilocks a) { return {{a.value}}; }

template <class P>
CW_INLINE Fp32<P> Zero(const Fp32<P>*) {
  return {0};
}
template <class P>
CW_INLINE Fp32<P> One(const Fp32<P>*) {
  return {P::kOne};
}
template <class P>
CW_INLINE bool Equal(Fp32<P> a, Fp32<P> b) {
  return a.value == b.value;
}
template <class P>
CW_INLINE bool IsZero(Fp32<P> a) {
  return a.value == 0;
}
template <class P>
CW_INLINE Fp32<P> Add(Fp32<P> a, Fp32<P> b) {
  const u32 sum = a.value + b.value, less = sum - P::kModulus;
  return {sum < less ? sum : less};
}
template <class P>
CW_INLINE Fp32<P> Sub(Fp32<P> a, Fp32<P> b) {
  const u32 difference = a.value - b.value, more = difference + P::kModulus;
  return {difference < more ? difference : more};
}
template <class P>
CW_INLINE Fp32<P> Neg(Fp32<P> a) {
  return Sub(Fp32<P>{0}, a);
}
// a b / 2^32 mod p for a b below 2^32 p.
template <class P>
CW_INLINE Fp32<P> ReduceMontgomery(u64 product) {
  constexpr u32 p = P::kModulus;
  const u32 quotient = (u32)product * P::kInverse32;
  const u32 t = (u32)((product + (u64)quotient * p) >> 32), less = t - p;
  return {t < less ? t : less};
}
template <class P>
CW_INLINE Fp32<P> Mul(Fp32<P> a, Fp32<P> b) {
  return ReduceMontgomery<P>((u64)a.value * b.value);
}
template <class P>
CW_INLINE Fp32<P> FromCanonical(const Words<1>& number, const Fp32<P>*) {
  const u64 reduced = number.word[0] % P::kModulus;
  return ReduceMontgomery<P>(reduced * P::kRSquared);
}
template <class P>
CW_INLINE Words<1> ToCanonical(Fp32<P> a) {
  return {{ReduceMontgomery<P>(a.value).value}};
}

// Whether memory holds an element as its number's words times R, so that one product converts
// between them.
template <class F>
constexpr bool kOfMontgomeryWords = false;
template <class P>
constexpr bool kOfMontgomeryWords<Fp<P>> = true;

// The elements 0 and 1 of a field: ZeroOf<Bn254Fr>().
template <class F>
CW_INLINE F ZeroOf() {
  return Zero(static_cast<const F*>(nullptr));
}
template <class F>
CW_INLINE F OneOf() {
  return One(static_cast<const F*>(nullptr));
}
template <class F>
CW_INLINE F Square(const F& a) {
  return Mul(a, a);
}
template <class F>
CW_INLINE F Double(const F& a) {
  return Add(a, a);
}
// Whether a's canonical number is below b's.
template <class F>
CW_INLINE bool LessCanonical(const F& a, const F& b) {
  return LessWords(ToCanonical(a), ToCanonical(b));
}
template <class F>
CW_INLINE F FromU64(u64 number) {
  Words<F::kWords> words = {};
  words.word[0] = number;
  return FromCanonical(words, static_cast<const F*>(nullptr));
}

// a^exponent, by windows of four bits from the highest; a^0 = 1 also for zero.
template <class F, u32 N>
inline F Power(const F& a, const Words<N>& exponent) {
  F table[16];
  table[0] = OneOf<F>();
  for (u32 i = 1; i < 16; ++i) table[i] = Mul(table[i - 1], a);
  F result = OneOf<F>();
  for (u32 at = 16 * N; at-- > 0;) {
    for (int i = 0; i < 4; ++i) result = Square(result);
    result = Mul(result, table[exponent.word[at / 16] >> (at % 16 * 4) & 15]);
  }
  return result;
}
template <class F>
inline F Power(const F& a, u64 exponent) {
  return Power(a, Words<1>{{exponent}});
}

// p - 2, by Fermat's little theorem the exponent of the inverse.
CW_INLINE Words<1> InverseExponent(const Goldilocks*) { return {{GoldilocksPrime::kModulus - 2}}; }
template <class P>
CW_INLINE Words<1> InverseExponent(const Fp32<P>*) {
  return {{P::kModulus - 2}};
}

// 1 / a; 0 for 0.
template <class F>
inline F Inverse(const F& a) {
  return Power(a, InverseExponent(static_cast<const F*>(nullptr)));
}
// a is R times its number, and R^2 / a is the inverse in memory's form.
template <class P>
inline Fp<P> Inverse(const Fp<P>& a) {
  return {DivideBySteps<P>(P::RSquared(), a.value)};
}

// (p - 1) / 2^log2_order: g to this power is the root of unity of order 2^log2_order.
template <class P>
CW_INLINE Words<P::kWords> RootExponent(const Fp<P>*, u32 log2_order) {
  return ShiftRight(Minus(P::kModulus, 1), log2_order);
}
CW_INLINE Words<1> RootExponent(const Goldilocks*, u32 log2_order) {
  return {{(GoldilocksPrime::kModulus - 1) >> log2_order}};
}
template <class P>
CW_INLINE Words<1> RootExponent(const Fp32<P>*, u32 log2_order) {
  return {{(P::kModulus - 1) >> log2_order}};
}
// log2_order at most F::Prime::kTwoAdicity, and below 64.
template <class F>
inline F RootOfUnity(u32 log2_order) {
  const F g = FromU64<F>(F::Prime::kGenerator);
  return Power(g, RootExponent(static_cast<const F*>(nullptr), log2_order));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_SCALAR_H_
