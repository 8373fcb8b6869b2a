// Products of neighbours of four words, from memory to memory, eight at a time.
//
// A multiply-add of 512 bits can begin every cycle, and the processor schedules about a hundred
// waiting instructions: so loads and stores are spread between the multiply-adds. While one group
// of eight is multiplied, the previous one is written and the next one read. Instructions that do
// not compete with multiply-adds are preferred: shifts, `and`, `or`, unpacking; not masks, double
// shifts, permutations of two vectors.
#ifndef CLOAKWORK_KERNELS_FIELD_STREAMS_H_
#define CLOAKWORK_KERNELS_FIELD_STREAMS_H_

#include "kernels/field/ifma_products.h"

#if defined(__AVX512IFMA__)

namespace cw {
namespace {

// Limbs of words times 2^shift for multiply-adds only, which read the low 52 bits of each: the bits
// above are not cleared.
template <int shift>
CW_INLINE void CutLimbs(const __m512i (&word)[4], __m512i (&limb)[5]) {
  limb[0] = shift == 0 ? word[0] : _mm512_slli_epi64(word[0], shift);
  for (int i = 1; i < 4; ++i) {
    const int offset = 64 - 12 * i - shift;
    limb[i] = _mm512_or_si512(_mm512_srli_epi64(word[i - 1], offset),
                              _mm512_slli_epi64(word[i], 64 - offset));
  }
  limb[4] = _mm512_srli_epi64(word[3], 16 - shift);
}

// A group to be stored: a number below 2 p, its limbs not negative and below 2^58, in steps.
template <class P>
struct Departure {
  using X8 = FieldX8<P>;
  static constexpr Words<5> p = X8::template kTimes<1>;
  __m512i limb[5];
  __m512i above;  // p's highest limb minus this one's
  __m512i word[4];

  // The lower limbs carry the value of their two highest ones, or 1 more.
  CW_INLINE void Compare() {
    __m512i carry = _mm512_add_epi64(limb[3], _mm512_srli_epi64(limb[2], 52));
    carry = _mm512_add_epi64(limb[4], _mm512_srli_epi64(carry, 52));
    above = _mm512_sub_epi64(Word8(p.word[4]), carry);
  }
  // Minus p if that is not negative: above < 0, or above is 0 or 1 and all limbs decide.
  CW_INLINE void Subtract() {
    if (__builtin_expect(_mm512_testn_epi64_mask(above, Word8(~(u64)1)), 0)) {
      SubtractExactly(limb);
      return;
    }
    const __m512i mask = _mm512_srai_epi64(above, 63);
    for (int i = 0; i < 5; ++i) {
      limb[i] = _mm512_sub_epi64(limb[i], _mm512_and_si512(mask, Word8(p.word[i])));
    }
  }
  static __attribute__((noinline)) void SubtractExactly(__m512i* limb) {
    X8 a;
    for (int i = 0; i < 5; ++i) a.limb[i] = limb[i];
    a = SubIfAtLeast<1>(Normal(a));
    for (int i = 0; i < 5; ++i) limb[i] = a.limb[i];
  }
  CW_INLINE void Carry() {
    for (int i = 0; i < 4; ++i) {
      limb[i + 1] = _mm512_add_epi64(limb[i + 1], _mm512_srai_epi64(limb[i], 52));
    }
  }
  CW_INLINE void Join() {
    for (int i = 0; i < 4; ++i) {
      const __m512i own = _mm512_and_si512(limb[i], Word8(kMask52));
      word[i] = _mm512_or_si512(_mm512_srli_epi64(own, 12 * i),
                                _mm512_slli_epi64(limb[i + 1], 52 - 12 * i));
    }
  }
  CW_INLINE void Write(u64* out) { StoreWords<X8>(word, out); }
  CW_INLINE void All(u64* out) {
    Compare();
    Subtract();
    Carry();
    Join();
    Write(out);
  }
};

// out[i] = a[i] b[i] for `groups` times eight elements, in the form of memory; groups at least 1.
// Groups of b are b_step words apart. A group is read before the one before it is written.
template <class P>
__attribute__((noinline)) void MulGroups(u64* out, const u64* a, const u64* b, u64 b_step,
                                         u64 groups) {
  using X8 = FieldX8<P>;
  static_assert(P::kWords == 4 && X8::kRoom >= 35, "a product of 16 p and p is below 2 p");
  __m512i word[4], x[5], y[5], t[10];
  u64 nowhere[32];
  u64* to = nowhere;
  Departure<P> last = {};
  LoadWords<X8>(a, word);
  CutLimbs<P::kShift52>(word, x);
  LoadWords<X8>(b, word);
  CutLimbs<0>(word, y);
  for (u64 group = 0; group < groups; ++group) {
    const u64 next = group + 1 < groups ? group + 1 : group;
    for (__m512i& limb : t) limb = _mm512_setzero_si512();
    AddRow<0>(t, x, y[0]);
    last.Compare();
    DropLimb<P, 0>(t);
    AddRow<1>(t, x, y[1]);
    last.Subtract();
    DropLimb<P, 1>(t);
    AddRow<2>(t, x, y[2]);
    last.Carry();
    DropLimb<P, 2>(t);
    last.Join();
    AddRow<3>(t, x, y[3]);
    last.Write(to);
    AddRow<4>(t, x, y[4]);
    LoadWords<X8>(a + 32 * next, last.word);
    DropLimb<P, 3>(t);
    LoadWords<X8>(b + b_step * next, word);
    CutLimbs<P::kShift52>(last.word, x);
    CutLimbs<0>(word, y);
    DropLimb<P, 4>(t);
    for (int i = 0; i < 5; ++i) last.limb[i] = t[5 + i];
    to = out + 32 * group;
  }
  last.All(to);
}

// out[i] = a[i]^2, likewise. It squares 4 a, since kShift52 = 4.
template <class P>
__attribute__((noinline)) void SquareGroups(u64* out, const u64* a, u64 groups) {
  using X8 = FieldX8<P>;
  static_assert(P::kShift52 == 4, "half of it for each factor");
  __m512i word[4], x[5], t[10];
  u64 nowhere[32];
  u64* to = nowhere;
  Departure<P> last = {};
  LoadWords<X8>(a, word);
  CutLimbs<2>(word, x);
  for (u64 group = 0; group < groups; ++group) {
    const u64 next = 32 * (group + 1 < groups ? group + 1 : group);
    last.Compare();
    SquareLimbs<5>(t, x);
    last.Subtract();
    DropLimb<P, 0>(t);
    last.Carry();
    DropLimb<P, 1>(t);
    last.Join();
    DropLimb<P, 2>(t);
    last.Write(to);
    LoadWords<X8>(a + next, word);
    DropLimb<P, 3>(t);
    CutLimbs<2>(word, x);
    DropLimb<P, 4>(t);
    for (int i = 0; i < 5; ++i) last.limb[i] = t[5 + i];
    to = out + 32 * group;
  }
  last.All(to);
}

// out[i] = a[i] factor.
template <class P>
inline void ScaleGroups(u64* out, const u64* a, const Words<4>& factor, u64 groups) {
  Words<4> same[8];
  for (Words<4>& one : same) one = factor;
  MulGroups<P>(out, a, same[0].word, 0, groups);
}

}  // namespace
}  // namespace cw

#endif  // __AVX512IFMA__

#endif  // CLOAKWORK_KERNELS_FIELD_STREAMS_H_
