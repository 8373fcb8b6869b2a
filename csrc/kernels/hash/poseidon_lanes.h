// Arithmetic of Poseidon's states: one at a time, or eight by 52-bit multiply-add.
#ifndef CLOAKWORK_KERNELS_HASH_POSEIDON_LANES_H_
#define CLOAKWORK_KERNELS_HASH_POSEIDON_LANES_H_

#include "kernels/field/ifma_products.h"
#include "kernels/field/scalar.h"

namespace cw {
namespace {

// Elements as stored in memory, reduced after each operation.
struct ScalarLanes {
  using Value = Bn254Fr;
  using Constant = Bn254Fr;
  static constexpr u64 kLanes = 1;
  static constexpr u32 kRoundsBetween = ~0u;

  static CW_INLINE Value Nothing() { return {}; }
  static CW_INLINE Value Load(const Bn254Fr* const (&from)[1], i64 at) { return from[0][at]; }
  static CW_INLINE void Store(const Value& a, Bn254Fr* const (&to)[1]) { *to[0] = a; }
  static CW_INLINE Value Plus(const Value& a, const Constant& b) { return Add(a, b); }
  static CW_INLINE Value Fifth(const Value& a) { return Mul(Square(Square(a)), a); }
  static CW_INLINE Value Dot(u32 count, const Value* a, const Constant* b) {
    Value sum = Mul(a[0], b[0]);
    for (u32 i = 1; i < count; ++i) sum = Add(sum, Mul(a[i], b[i]));
    return sum;
  }
  static CW_INLINE Value PlusProduct(const Value& a, const Value& b, const Constant& c) {
    return Add(a, Mul(b, c));
  }
  static CW_INLINE void Shrink(u32, Value*) {}
};

template <class V>
struct LanesFor {
  using Type = ScalarLanes;
};

// A constant times 2^260 modulo p, cut into limbs: the form that eight lanes read.
using Limbs52 = Words<5>;
inline Limbs52 ToLimbs52(Bn254Fr a) {
  for (u32 i = 0; i < Bn254FrPrime::kShift52; ++i) a = Double(a);
  return Cut52<5>(a.value);
}

#if defined(__AVX512IFMA__)

// Eight states in form R = 2^260 > 84 p. Between operations elements are normal and below 16 p:
//   a product of x p and y p is below (1.13 + x y / 84) p, the fifth power of 17 p below 2.6 p
//   Dot: below (1.13 + 17 * 16 / 84) p, as 17 products of 16 p and p are reduced together; their
//   sums of 10 * 17 halves of products of 52 bits are below 2^60
//   PlusProduct adds less than 1.16 p, so that 9 of them on less than 4.4 p stay below 16 p
struct IfmaLanes {
  using Value = FieldX8<Bn254FrPrime>;
  using Constant = Limbs52;
  static constexpr u64 kLanes = 8;
  static constexpr u32 kRoundsBetween = 9;

  static CW_INLINE Value Nothing() {
    Value zero;
    for (int i = 0; i < 5; ++i) zero.limb[i] = _mm512_setzero_si512();
    return zero;
  }
  static CW_INLINE Value Load(const Bn254Fr* const (&from)[8], i64 at) {
    const u64* places[8];
    for (int i = 0; i < 8; ++i) places[i] = from[i][at].value.word;
    __m512i words[4];
    GatherWords<4>(places, words);
    return FromWords<Value, Bn254FrPrime::kShift52>(words);
  }
  // From form 2^260 to memory's: times 2^256, and divided by 2^260.
  static CW_INLINE void Store(const Value& a, Bn254Fr* const (&to)[8]) {
    const Words<4> one = Bn254FrPrime::One();
    const Value form = BroadcastWords<Value, 0>(one.word);
    __m512i words[4];
    ToWords(Canonical<2>(Mul(a, form)), words);
    u64* places[8];
    for (int i = 0; i < 8; ++i) places[i] = to[i]->value.word;
    ScatterWords<4>(words, places);
  }
  static CW_INLINE Value Broadcast(const Constant& a) {
    Value all;
    for (int i = 0; i < 5; ++i) all.limb[i] = Word8(a.word[i]);
    return all;
  }
  static CW_INLINE Value Plus(const Value& a, const Constant& b) {
    return cw::Add(a, Broadcast(b));
  }
  static CW_INLINE Value Fifth(const Value& a) {
    return cw::Mul(cw::Square(cw::Square(a)), a);
  }
  static CW_INLINE Value PlusProduct(const Value& a, const Value& b, const Constant& c) {
    return cw::Add(a, cw::Mul(b, Broadcast(c)));
  }
  // The products in full, column by column, reduced once.
  static CW_INLINE Value Dot(u32 count, const Value* a, const Constant* b) {
    __m512i t[10];
    for (int i = 0; i < 10; ++i) t[i] = _mm512_setzero_si512();
    for (u32 k = 0; k < count; ++k) {
#pragma GCC unroll 5
      for (int i = 0; i < 5; ++i) {
        const __m512i factor = Word8(b[k].word[i]);
#pragma GCC unroll 5
        for (int j = 0; j < 5; ++j) {
          t[i + j] = _mm512_madd52lo_epu64(t[i + j], a[k].limb[j], factor);
          t[i + j + 1] = _mm512_madd52hi_epu64(t[i + j + 1], a[k].limb[j], factor);
        }
      }
    }
    DropLimbs<Bn254FrPrime, 0>(t);
    return HighLimbs<Bn254FrPrime>(t);
  }
  static CW_INLINE void Shrink(u32 width, Value* state) {
    for (u32 i = 1; i < width; ++i) {
      state[i] = SubIfAtLeast<2>(SubIfAtLeast<4>(SubIfAtLeast<8>(state[i])));
    }
  }
};

template <>
struct LanesFor<U64x8> {
  using Type = IfmaLanes;
};

#endif

template <class V>
using LanesOf = typename LanesFor<V>::Type;

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_POSEIDON_LANES_H_
