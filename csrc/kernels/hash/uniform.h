// Uniform field elements: 64 bytes modulo p, of a hash or of ChaCha20.
#ifndef CLOAKWORK_KERNELS_HASH_UNIFORM_H_
#define CLOAKWORK_KERNELS_HASH_UNIFORM_H_

#include "kernels/field/elements.h"
#include "kernels/field/scalar.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// A number below 2^512, the lowest word first.
struct Wide {
  u64 word[8];
};

// The element of any number below 2^(64 N): only the first factor of a product must be below p.
template <class P>
CW_INLINE Fp<P> ElementOf(const Words<P::kWords>& number) {
  return {ReduceOnce(MulLazy<P>(P::RSquared(), number), P::kModulus)};
}

// The number modulo p: its low half and the rest times 2^(64 N), each by Montgomery products.
template <class P>
CW_INLINE Fp<P> Residue(const Wide& number, const Fp<P>*) {
  constexpr u32 N = P::kWords;
  Words<N> low, high = {};
  for (u32 i = 0; i < N; ++i) low.word[i] = number.word[i];
  for (u32 i = N; i < 8; ++i) high.word[i - N] = number.word[i];
  const Fp<P> r = {P::RSquared()};
  return Add(ElementOf<P>(low), Mul(ElementOf<P>(high), r));
}
// Horner's rule by words, or by halves of words.
CW_INLINE Goldilocks Residue(const Wide& number, const Goldilocks*) {
  Goldilocks sum = {0};
  for (u32 i = 8; i-- > 0;) sum = ReduceWide(number.word[i], sum.value);
  return sum;
}
template <class P>
CW_INLINE Fp32<P> Residue(const Wide& number, const Fp32<P>* of) {
  u64 sum = 0;
  for (u32 i = 16; i-- > 0;) {
    const u32 half = (u32)(number.word[i / 2] >> (32 * (i % 2)));
    sum = (sum << 32 | half) % P::kModulus;
  }
  return FromCanonical(Words<1>{{sum}}, of);
}

// Operands: out, bytes (the first of each 64); any dims, all units. params: distance between bytes.
template <class V, class In, class Out>
void ReduceUniform(const cw_launch& launch, u64 begin, u64 end, void*) {
  for (u64 unit = begin; unit < end; ++unit) {
    const In* bytes =
        Data<const In>(launch, 1) + OffsetAt(unit, launch.rank, launch.dims, Strides(launch, 1));
    Wide wide = {};
    for (i64 i = 0; i < 64; ++i) {
      wide.word[i / 8] |= (u64)bytes[i * launch.params[0]] << (8 * (i % 8));
    }
    Data<Out>(launch, 0)[OffsetAt(unit, launch.rank, launch.dims, Strides(launch, 0))] =
        Residue(wide, static_cast<const Out*>(nullptr));
  }
}

// Blocks of ChaCha20 computed together: the compiler gives each its lane.
constexpr u64 kChaChaLanes = 16;

CW_INLINE u32 RotateLeft(u32 a, u32 bits) { return a << bits | a >> (32 - bits); }

// The quarter round on words a, b, c, d of all lanes.
CW_INLINE void QuarterRound(u32 (&state)[16][kChaChaLanes], u32 a, u32 b, u32 c, u32 d) {
  for (u64 i = 0; i < kChaChaLanes; ++i) {
    u32 w = state[a][i], x = state[b][i], y = state[c][i], z = state[d][i];
    w += x, z = RotateLeft(z ^ w, 16);
    y += z, x = RotateLeft(x ^ y, 12);
    w += x, z = RotateLeft(z ^ w, 8);
    y += z, x = RotateLeft(x ^ y, 7);
    state[a][i] = w, state[b][i] = x, state[c][i] = y, state[d][i] = z;
  }
}

// Blocks first, first + 1, ... of the keystream, with counters of 64 bits and the nonce's 64 after
// them (Bernstein, ChaCha, a variant of Salsa20, 2008).
inline void ChaCha20(const u32 (&key)[8], u64 nonce, u64 first, Wide (&blocks)[kChaChaLanes]) {
  constexpr u32 kSigma[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  u32 start[16][kChaChaLanes], state[16][kChaChaLanes];
  for (u64 i = 0; i < kChaChaLanes; ++i) {
    for (u32 w = 0; w < 4; ++w) start[w][i] = kSigma[w];
    for (u32 w = 0; w < 8; ++w) start[4 + w][i] = key[w];
    start[12][i] = (u32)(first + i);
    start[13][i] = (u32)((first + i) >> 32);
    start[14][i] = (u32)nonce;
    start[15][i] = (u32)(nonce >> 32);
  }
  memcpy(state, start, sizeof state);
  for (u32 round = 0; round < 10; ++round) {
    QuarterRound(state, 0, 4, 8, 12);
    QuarterRound(state, 1, 5, 9, 13);
    QuarterRound(state, 2, 6, 10, 14);
    QuarterRound(state, 3, 7, 11, 15);
    QuarterRound(state, 0, 5, 10, 15);
    QuarterRound(state, 1, 6, 11, 12);
    QuarterRound(state, 2, 7, 8, 13);
    QuarterRound(state, 3, 4, 9, 14);
  }
  for (u64 i = 0; i < kChaChaLanes; ++i) {
    for (u32 w = 0; w < 8; ++w) {
      const u64 low = state[2 * w][i] + start[2 * w][i];
      const u32 high = state[2 * w + 1][i] + start[2 * w + 1][i];
      blocks[i].word[w] = low | (u64)high << 32;
    }
  }
}

// Operands: out, key (32 bytes; stride 0); any dims, all units: coefficient j of element i is block
// i kCount + j, as 64 bytes, modulo p. params: distance between the key's bytes, the nonce.
template <class V, class In, class Out>
void UniformField(const cw_launch& launch, u64 begin, u64 end, void*) {
  const In* bytes = Data<const In>(launch, 1);
  u32 key[8] = {};
  for (i64 i = 0; i < 32; ++i) key[i / 4] |= (u32)bytes[i * launch.params[0]] << (8 * (i % 4));
  using F = typename CoefficientsOf<Out>::Type;
  constexpr u64 each = CoefficientsOf<Out>::kCount;
  static_assert(kChaChaLanes % each == 0 && sizeof(Out) == each * sizeof(F), "no element is cut");
  Wide blocks[kChaChaLanes];
  for (u64 first = begin; first < end; first += kChaChaLanes / each) {
    ChaCha20(key, (u64)launch.params[1], first * each, blocks);
    for (u64 i = 0; i < Min(kChaChaLanes / each, end - first); ++i) {
      Out* out = Data<Out>(launch, 0) +
                 OffsetAt(first + i, launch.rank, launch.dims, Strides(launch, 0));
      for (u64 j = 0; j < each; ++j) {
        const F residue = Residue(blocks[i * each + j], static_cast<const F*>(nullptr));
        reinterpret_cast<F*>(out)[j] = residue;
      }
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_UNIFORM_H_
