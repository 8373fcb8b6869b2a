// Non-temporal stores: a large result would evict the operands from the caches, and an ordinary
// store reads each line before it writes it.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_STREAM_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_STREAM_H_

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/common.h"

namespace cw {
namespace {

constexpr u64 kLineBytes = 64;
// Results computed before they are stored: well inside the first-level cache.
constexpr u64 kStreamBytes = 4096;

// The number of elements to compute in place before out is at the start of a line; all of them if
// it never is.
CW_INLINE u64 StreamHead(const void* out, u64 count, u32 bytes) {
  const u64 over = (u64)(uintptr_t)out % kLineBytes;
  const u64 head = over == 0 ? 0 : kLineBytes - over;
  return head % bytes == 0 ? Min(head / bytes, count) : count;
}

// to and from are at the start of a line, and bytes is a multiple of a line.
CW_INLINE void StreamLines(void* to, const void* from, u64 bytes) {
#if defined(__AVX512F__)
  auto* out = static_cast<__m512i*>(to);
  const auto* a = static_cast<const __m512i*>(from);
  for (u64 i = 0; i < bytes / 64; ++i) _mm512_stream_si512(out + i, _mm512_load_si512(a + i));
#elif defined(__AVX2__)
  auto* out = static_cast<__m256i*>(to);
  const auto* a = static_cast<const __m256i*>(from);
  for (u64 i = 0; i < bytes / 32; ++i) _mm256_stream_si256(out + i, _mm256_load_si256(a + i));
#elif defined(__x86_64__)
  auto* out = static_cast<__m128i*>(to);
  const auto* a = static_cast<const __m128i*>(from);
  for (u64 i = 0; i < bytes / 16; ++i) _mm_stream_si128(out + i, _mm_load_si128(a + i));
#else
  memcpy(to, from, bytes);
#endif
}

// Orders the stores before later stores, for other threads.
CW_INLINE void StreamFence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_STREAM_H_
