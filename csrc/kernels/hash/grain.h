// Constants of Poseidon over BN254's scalar field, from the Grain LFSR, as the reference script of
// Grassi, Khovratovich, Rechberger, Roy and Schofnegger, "Poseidon: A New Hash Function for
// Zero-Knowledge Proof Systems" (eprint 2019/458), generates them. They are derived, not stored.
#ifndef CLOAKWORK_KERNELS_HASH_GRAIN_H_
#define CLOAKWORK_KERNELS_HASH_GRAIN_H_

#include "kernels/field/scalar.h"

namespace cw {
namespace {

constexpr u32 kPoseidonMinWidth = 2, kPoseidonMaxWidth = 17;
constexpr u32 kPoseidonFullRounds = 8;
// Partial rounds of widths 2, 3, ...: the number for 128 bits of security, rounded up to a multiple
// of the width.
constexpr u32 kPoseidonPartialRounds[] = {56, 57, 56, 60, 60, 63, 64, 63,
                                          60, 66, 60, 65, 70, 60, 64, 68};

// The LFSR of 80 bits (appendix F of the paper), bit 0 the oldest.
struct Grain {
  u128 state = 0;

  explicit Grain(u32 width) {
    u32 filled = 0;
    Fill(1, 2, &filled);  // a prime field
    Fill(0, 4, &filled);  // x^5 as S-box
    Fill(Bn254FrPrime::kBits, 12, &filled);
    Fill(width, 12, &filled);
    Fill(kPoseidonFullRounds, 10, &filled);
    Fill(kPoseidonPartialRounds[width - kPoseidonMinWidth], 10, &filled);
    Fill(((u64)1 << 30) - 1, 30, &filled);
    for (int i = 0; i < 160; ++i) Step();
  }

  void Fill(u64 value, u32 bits, u32* filled) {
    for (u32 i = bits; i-- > 0;) state |= (u128)(value >> i & 1) << (*filled)++;
  }
  u64 Step() {
    const u64 low = (u64)state;
    const u64 bit = (low ^ low >> 13 ^ low >> 23 ^ low >> 38 ^ low >> 51 ^ low >> 62) & 1;
    state = state >> 1 | (u128)bit << 79;
    return bit;
  }
  // Of each pair of bits the second one is used if the first is 1.
  u64 Bit() {
    for (;;) {
      const u64 chosen = Step(), bit = Step();
      if (chosen != 0) return bit;
    }
  }
  // 254 bits, the highest first.
  Words<4> Number() {
    Words<4> number = {};
    for (u32 i = Bn254FrPrime::kBits; i-- > 0;) number.word[i / 64] |= Bit() << (i % 64);
    return number;
  }
  // The next number below p; Any() is the next number modulo p.
  Bn254Fr Below() {
    Words<4> number = Number();
    while (!LessWords(number, Bn254FrPrime::kModulus)) number = Number();
    return FromCanonical(number, static_cast<const Bn254Fr*>(nullptr));
  }
  Bn254Fr Any() { return FromCanonical(Number(), static_cast<const Bn254Fr*>(nullptr)); }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_GRAIN_H_
