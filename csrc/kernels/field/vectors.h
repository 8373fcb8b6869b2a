// Products, powers and inverses of neighbouring elements: eight together with 52-bit multiply-add,
// else one by one. The results have the same bits.
#ifndef CLOAKWORK_KERNELS_FIELD_VECTORS_H_
#define CLOAKWORK_KERNELS_FIELD_VECTORS_H_

#include "kernels/field/blocks.h"
#include "kernels/field/streams.h"

namespace cw {
namespace {

// Whether elements of a field are computed on eight together.
template <class F>
struct Lanes {
  static constexpr bool kEight = false;
};

#if defined(__AVX512IFMA__)
template <class P>
struct Lanes<Fp<P>> {
  static constexpr bool kEight = true;
  using X8 = FieldX8<P>;
};

CW_INLINE const u64* WordsOf(const void* element) { return static_cast<const u64*>(element); }
CW_INLINE u64* WordsOf(void* element) { return static_cast<u64*>(element); }

// 1 in the form of 52-bit words: 2^(52 limbs) mod p, reduced.
template <class P>
CW_INLINE FieldX8<P> OneX8() {
  static constexpr Words<P::kWords> kOne52 =
      PowerOfTwo<P::kWords>(52 * P::kWords52, P::Modulus());
  return BroadcastWords<FieldX8<P>, 0>(kOne52.word);
}

// a^exponent in the form of memory, a in the form of 52-bit words, below 2^kShift52 p.
template <class P>
inline FieldX8<P> PowerX8(const FieldX8<P>& a, u64 exponent) {
  constexpr Words<P::kWords> kOne = P::One();
  FieldX8<P> result = OneX8<P>();
  for (int bit = 64; bit-- > 0;) {
    if (exponent >> bit == 0) continue;
    result = Mul(result, result);
    if (exponent >> bit & 1) result = Mul(result, a);
  }
  // 2^(64 words): a product with it converts from 2^(52 limbs) to the form of memory.
  return SubIfAtLeast<1>(Mul(result, BroadcastWords<FieldX8<P>, 0>(kOne.word)));
}
#endif

// out[i] = a[i] b[i].
template <class F>
__attribute__((noinline)) void MulNeighbours(F* out, const F* a, const F* b, u64 count) {
  u64 i = 0;
#if defined(__AVX512IFMA__)
  if constexpr (Lanes<F>::kEight) {
    using X8 = typename Lanes<F>::X8;
    if constexpr (F::kWords == 4) {
      i = count / 8 * 8;
      if (i != 0) MulGroups<typename F::Prime>(WordsOf(out), WordsOf(a), WordsOf(b), 32, i / 8);
    }
    for (; i + 8 <= count; i += 8) {
      const X8 product = Mul(LoadShifted<X8>(WordsOf(a + i)), LoadRaw<X8>(WordsOf(b + i)));
      Store(SubIfAtLeast<1>(product), WordsOf(out + i));
    }
  }
#endif
  for (; i < count; ++i) out[i] = Mul(a[i], b[i]);
}

// out[i] = a[i] factor; a may be any words where the factor is below p / 2.
template <class F>
__attribute__((noinline)) void ScaleNeighbours(F* out, const F* a, const F& factor, u64 count) {
  u64 i = 0;
#if defined(__AVX512IFMA__)
  if constexpr (Lanes<F>::kEight && F::kWords == 4) {
    i = count / 8 * 8;
    if (i != 0) ScaleGroups<typename F::Prime>(WordsOf(out), WordsOf(a), factor.value, i / 8);
  }
#endif
  for (; i < count; ++i) out[i] = Mul(factor, a[i]);
}

// out[i] = a[i]^2.
template <class F>
__attribute__((noinline)) void SquareNeighbours(F* out, const F* a, u64 count) {
  u64 done = 0;
#if defined(__AVX512IFMA__)
  if constexpr (Lanes<F>::kEight && F::kWords == 4) {
    done = count / 8 * 8;
    if (done != 0) SquareGroups<typename F::Prime>(WordsOf(out), WordsOf(a), done / 8);
  }
#endif
  if (done < count) MulNeighbours(out + done, a + done, a + done, count - done);
}

// out[i] = 1 / a[i], 0 for 0, by one inversion (Montgomery 1987, section 10.3.1): of the product of
// all elements, from which each is then removed. products has `count` elements. Elements are `step`
// apart.
template <class F>
inline void InvertEach(F* out, const F* a, u64 count, u64 step, F* products) {
  F product = OneOf<F>();
  for (u64 i = 0; i < count; ++i) {
    products[i] = product;
    if (!IsZero(a[i * step])) product = Mul(product, a[i * step]);
  }
  F inverse = Inverse(product);
  for (u64 i = count; i-- > 0;) {
    const F x = a[i * step];
    if (IsZero(x)) {
      out[i * step] = x;
      continue;
    }
    out[i * step] = Mul(inverse, products[i]);
    inverse = Mul(inverse, x);
  }
}

#if defined(__AVX512IFMA__)
// The same for eight times count elements: each lane by itself, then the eight products together.
template <class P>
inline void InvertEights(Fp<P>* out, const Fp<P>* a, u64 count) {
  using X8 = FieldX8<P>;
  const X8 one = OneX8<P>();
  X8 products[kBatch / 8];
  auto at = [&](u64 i) {
    const X8 x = LoadShifted<X8>(WordsOf(a + 8 * i));
    return Select(IsZeroLimbs(x), x, one);
  };
  X8 product = one;
  for (u64 i = 0; i < count; ++i) {
    products[i] = product;
    product = Mul(product, at(i));
  }
  Fp<P> totals[8], unused[8];
  Store(SubIfAtLeast<1>(product), WordsOf(totals));
  InvertEach(totals, totals, 8, 1, unused);
  // In memory's form these are the inverses over 2^(2 kShift52); each product below removes one
  // kShift52.
  const Fp<P> shift = FromU64<Fp<P>>((u64)1 << P::kShift52);
  for (Fp<P>& total : totals) total = Mul(total, shift);
  X8 inverse = LoadRaw<X8>(WordsOf(totals));
  for (u64 i = count; i-- > 0;) {
    const X8 raw = LoadRaw<X8>(WordsOf(a + 8 * i));
    const __mmask8 zeros = IsZeroLimbs(raw);
    const X8 x = at(i);
    const X8 result = SubIfAtLeast<1>(Mul(inverse, products[i]));
    inverse = Mul(inverse, x);
    Store(Select(zeros, result, raw), WordsOf(out + 8 * i));
  }
}
#endif

// out[i] = 1 / a[i], 0 for 0; count at most kBatch.
template <class F>
__attribute__((noinline)) void InvertNeighbours(F* out, const F* a, u64 count) {
  u64 done = 0;
#if defined(__AVX512IFMA__)
  if constexpr (Lanes<F>::kEight) {
    if (count >= 32) {
      done = count / 8 * 8;
      InvertEights(out, a, count / 8);
    }
  }
#endif
  F products[kBatch];
  if (done < count) InvertEach(out + done, a + done, count - done, 1, products);
}

// a^exponent; of the inverse where the exponent is negative, 0 for 0.
template <class F>
inline F PowerOf(const F& a, i64 exponent) {
  F result = OneOf<F>(), base = exponent < 0 ? Inverse(a) : a;
  for (u64 left = exponent < 0 ? 0 - (u64)exponent : (u64)exponent; left != 0; left >>= 1) {
    if (left & 1) result = Mul(result, base);
    base = Square(base);
  }
  return result;
}

template <class F>
__attribute__((noinline)) void PowerNeighbours(F* out, const F* a, const i64* exponent, u64 count) {
  for (u64 i = 0; i < count;) {
#if defined(__AVX512IFMA__)
    if constexpr (Lanes<F>::kEight) {
      using X8 = typename Lanes<F>::X8;
      bool same = i + 8 <= count && exponent[i] >= 0;
      for (u64 j = 1; same && j < 8; ++j) same = exponent[i + j] == exponent[i];
      if (same) {
        const X8 x = LoadShifted<X8>(WordsOf(a + i));
        Store(PowerX8(x, (u64)exponent[i]), WordsOf(out + i));
        i += 8;
        continue;
      }
    }
#endif
    out[i] = PowerOf(a[i], exponent[i]);
    ++i;
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_VECTORS_H_
