// Rows of a transform in tensors, which passes read and write.
#ifndef CLOAKWORK_KERNELS_NTT_ROW_H_
#define CLOAKWORK_KERNELS_NTT_ROW_H_

#include "kernels/ntt/ntt_plan.h"
#include "kernels/ntt/unroll.h"

namespace cw {
namespace {

// Words of a tensor as a pass reads them: contiguous, and reduced if not below 2^bits(q) <= 2q.
// That test is cheaper than one against q; every arithmetic accepts words in [0, 2q).
template <class In>
struct Words {
  const In* data;
  u64 q;

  CW_INLINE Words From(u64 first) const { return {data + first, q}; }

  template <class A, class V, int size>
  CW_INLINE void Load(const A& a, V (&r)[size], u64 i, u64 step) const {
    V all = V::Set(0);
    Unroll<size>(CW_UNROLLED(k) {
      r[k] = V::Load(data + i + k * step);
      // Digits may be negative; then their magnitude is small.
      if constexpr (sizeof(In) < sizeof(u64)) r[k] = AddIfNegative(r[k], V::Set(q));
      all = Or(all, r[k]);
    });
    const V beyond = V::Set(~(u64)0 << (64 - __builtin_clzll(q)));
    if (__builtin_expect(AnyBit(all, beyond), 0)) {
      Unroll<size>(CW_UNROLLED(k) { r[k] = Reduced<V>(i + k * step); });
    }
    Unroll<size>(CW_UNROLLED(k) { r[k] = a.Number(r[k]); });
  }

 private:
  template <class V>
  __attribute__((noinline)) V Reduced(u64 first) const {
    u64 words[V::kLanes];
    for (int lane = 0; lane < V::kLanes; ++lane) {
      words[lane] = CanonicalWord((i64)data[first + (u64)lane], q);
    }
    return V::Load(words);
  }
};

// Numbers between passes, in place.
struct Numbers {
  u64* data;

  template <class A, class V, int size>
  CW_INLINE void Load(const A&, V (&r)[size], u64 i, u64 step) const {
    Unroll<size>(CW_UNROLLED(k) { r[k] = V::Load(data + i + k * step); });
  }
  template <class A, class V, int size>
  CW_INLINE void Store(const A&, const V (&r)[size], u64 i, u64 step) const {
    Unroll<size>(CW_UNROLLED(k) { r[k].Store(data + i + k * step); });
  }
};

// The destination of words in [0, q).
template <class Out>
struct ToWords {
  Out* data;

  template <class A, class V, int size>
  CW_INLINE void Store(const A& a, const V (&r)[size], u64 i, u64 step) const {
    Unroll<size>(CW_UNROLLED(k) { a.Word(r[k]).Store(data + i + k * step); });
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_ROW_H_
