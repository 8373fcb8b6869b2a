// absorb and squeeze: a transcript's log grows, and its proof with it.
//
// A transcript is bytes: the number of absorbed bytes and of proof bytes, 8 little-endian bytes
// each, then the log with its unused space, then the proof with as much space.
#ifndef CLOAKWORK_KERNELS_HASH_TRANSCRIPT_H_
#define CLOAKWORK_KERNELS_HASH_TRANSCRIPT_H_

#include "kernels/hash/encode.h"
#include "kernels/odometer.h"

namespace cw {
namespace {

constexpr u64 kTranscriptHead = 16;

// Bytes at equal distances.
struct ByteLine {
  uint8_t* first;
  i64 step;

  CW_INLINE uint8_t& operator[](u64 i) const { return first[(i64)i * step]; }
  CW_INLINE void Write(u64 at, const uint8_t* bytes, u64 count) const {
    for (u64 i = 0; i < count; ++i) (*this)[at + i] = bytes[i];
  }
  CW_INLINE u64 Word(u64 at) const {
    u64 word = 0;
    for (u64 i = 0; i < 8; ++i) word |= (u64)(*this)[at + i] << (8 * i);
    return word;
  }
  CW_INLINE void SetWord(u64 at, u64 word) const {
    for (u64 i = 0; i < 8; ++i) (*this)[at + i] = (uint8_t)(word >> (8 * i));
  }
};

// A transcript that is written. Its lengths were checked; if another thread changes them during the
// call, bytes that do not fit are left out.
struct OpenTranscript {
  ByteLine bytes;
  u64 capacity, absorbed, proven;

  OpenTranscript(ByteLine out, ByteLine from, u64 length) : bytes(out) {
    if (out.first != from.first) {
      for (u64 i = 0; i < length; ++i) out[i] = from[i];
    }
    capacity = (length - kTranscriptHead) / 2;
    absorbed = Min(out.Word(0), capacity);
    proven = Min(out.Word(8), capacity);
  }

  CW_INLINE void Absorb(const uint8_t* entry, u64 count) {
    if (capacity - absorbed < count) return;
    bytes.Write(kTranscriptHead + absorbed, entry, count);
    absorbed += count;
  }
  CW_INLINE void Prove(const uint8_t* entry, u64 count) {
    if (capacity - proven < count) return;
    bytes.Write(kTranscriptHead + capacity + proven, entry, count);
    proven += count;
  }
  void Close() const {
    bytes.SetWord(0, absorbed);
    bytes.SetWord(8, proven);
  }
};

// Operands: out, values, the transcript; one unit. Dims are those of the values as users see them.
// params: bytes of the transcript, strides of out and of the transcript, 1 if the proof grows too.
template <class V, class In, class Out>
void Absorb(const cw_launch& launch, u64 begin, u64 end, void*) {
  if (begin >= end) return;
  OpenTranscript transcript({Data<uint8_t>(launch, 0), launch.params[1]},
                            {Data<uint8_t>(launch, 2), launch.params[2]}, (u64)launch.params[0]);
  Odometer places(launch.rank, launch.dims, Strides(launch, 1));
  for (u64 left = Elements(launch); left != 0; --left) {
    const Entry entry = Encode(Data<const In>(launch, 1)[places.offset]);
    transcript.Absorb(entry.log, entry.log_bytes);
    if (launch.params[3] != 0) transcript.Prove(entry.proof, entry.proof_bytes);
    places.Next();
  }
  transcript.Close();
}

// Operands: out, the transcript; one unit. params: bytes of the transcript, strides of both.
template <class V, class In, class Out>
void Squeeze(const cw_launch& launch, u64 begin, u64 end, void*) {
  if (begin >= end) return;
  OpenTranscript transcript({Data<uint8_t>(launch, 0), launch.params[1]},
                            {Data<uint8_t>(launch, 1), launch.params[2]}, (u64)launch.params[0]);
  transcript.Absorb(&kChallengePrefix, 1);
  transcript.Close();
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_TRANSCRIPT_H_
