// The encoding of field elements and points in transcripts: as in halo2, with the curves of
// halo2curves and pasta_curves.
#ifndef CLOAKWORK_KERNELS_HASH_ENCODE_H_
#define CLOAKWORK_KERNELS_HASH_ENCODE_H_

#include "kernels/field/elements.h"
#include "kernels/field/scalar.h"

namespace cw {
namespace {

// The prefix of an entry in the log.
constexpr uint8_t kChallengePrefix = 0, kPointPrefix = 1, kScalarPrefix = 2;

// One entry of a transcript: its bytes in the log, and the shorter ones in the proof.
struct Entry {
  uint8_t log[1 + 2 * 48];
  uint8_t proof[48];
  u32 log_bytes, proof_bytes;
};

template <u32 N>
CW_INLINE void LittleEndian(const Words<N>& number, u32 bytes, uint8_t* to) {
  for (u32 i = 0; i < bytes; ++i) to[i] = (uint8_t)(number.word[i / 8] >> (8 * (i % 8)));
}
template <u32 N>
CW_INLINE void BigEndian(const Words<N>& number, u32 bytes, uint8_t* to) {
  for (u32 i = 0; i < bytes; ++i) {
    const u32 from = bytes - 1 - i;
    to[i] = (uint8_t)(number.word[from / 8] >> (8 * (from % 8)));
  }
}

// The canonical number, little-endian, in the log and in the proof.
template <class F>
CW_INLINE Entry Encode(const F& scalar) {
  Entry entry;
  entry.log[0] = kScalarPrefix;
  LittleEndian(ToCanonical(scalar), sizeof scalar, entry.proof);
  memcpy(entry.log + 1, entry.proof, sizeof scalar);
  entry.log_bytes = 1 + sizeof scalar;
  entry.proof_bytes = sizeof scalar;
  return entry;
}

// For 4 words: little-endian x and y; the proof has x, with the parity of y as the highest bit.
template <class P>
CW_INLINE Entry EncodePoint(const Affine<Fp<P>>& point, const Words<4>*) {
  Entry entry;
  const Words<4> x = ToCanonical(point.x), y = ToCanonical(point.y);
  entry.log[0] = kPointPrefix;
  LittleEndian(x, 32, entry.log + 1);
  LittleEndian(y, 32, entry.log + 33);
  memcpy(entry.proof, entry.log + 1, 32);
  entry.proof[31] |= (uint8_t)((y.word[0] & 1) << 7);
  entry.log_bytes = 65;
  entry.proof_bytes = 32;
  return entry;
}

// For 6 words: big-endian x and y; the proof has x, whose highest bit says that it is compressed,
// and whose third highest bit says that y is the greater of y and -y.
template <class P>
CW_INLINE Entry EncodePoint(const Affine<Fp<P>>& point, const Words<6>*) {
  Entry entry;
  const Words<6> x = ToCanonical(point.x), y = ToCanonical(point.y);
  const bool is_greater = LessWords(ShiftRight(P::kModulus, 1), y);
  entry.log[0] = kPointPrefix;
  BigEndian(x, 48, entry.log + 1);
  BigEndian(y, 48, entry.log + 49);
  memcpy(entry.proof, entry.log + 1, 48);
  entry.proof[0] |= (uint8_t)(0x80 | (is_greater ? 0x20 : 0));
  entry.log_bytes = 97;
  entry.proof_bytes = 48;
  return entry;
}

template <class P>
CW_INLINE Entry Encode(const Affine<Fp<P>>& point) {
  return EncodePoint(point, static_cast<const Words<P::kWords>*>(nullptr));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_ENCODE_H_
