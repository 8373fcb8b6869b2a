// Rows of a transform as they lie in tensors: what reads and writes their words.
#ifndef CLOAKWORK_KERNELS_NTT_ROW_H_
#define CLOAKWORK_KERNELS_NTT_ROW_H_

#include "kernels/ntt/ntt_plan.h"
#include "kernels/ntt/unroll.h"

namespace cw {
namespace {

// The permutation operand; null where there is none or it does nothing.
struct Permutation {
  const i64* index;
  i64 step;
};

// Words of a tensor as a pass reads them: neighbours, reduced to [0, q) where they must be.
template <class In>
struct Words {
  const In* data;
  u64 q;

  CW_INLINE Words From(u64 first) const { return {data + first, q}; }

  template <class A, class V, int size>
  CW_INLINE void Load(const A& a, V (&r)[size], u64 i, u64 step) const {
    const V last = V::Set(q - 1);
    V outside = V::Set(0);
    Unroll<size>(CW_UNROLLED(k) {
      r[k] = V::Load(data + i + k * step);
      outside = Or(outside, OutsideBit(r[k], last));
    });
    if (__builtin_expect(AnyTopBit(outside), 0)) {
      Unroll<size>(CW_UNROLLED(k) { r[k] = Reduced<V>(i + k * step); });
    }
    Unroll<size>(CW_UNROLLED(k) { r[k] = a.Number(r[k]); });
  }

 private:
  template <class V>
  __attribute__((noinline)) V Reduced(u64 first) const {
    u64 words[V::kLanes];
    for (int lane = 0; lane < V::kLanes; ++lane) {
      words[lane] = CanonicalWord(data[first + (u64)lane], q);
    }
    return V::Load(words);
  }
};

// Numbers between passes.
struct Numbers {
  const u64* data;

  template <class A, class V, int size>
  CW_INLINE void Load(const A&, V (&r)[size], u64 i, u64 step) const {
    Unroll<size>(CW_UNROLLED(k) { r[k] = V::Load(data + i + k * step); });
  }
};

// Reads a row, reduced to [0, q), optionally through a permutation.
template <class In>
void LoadRow(u64* x, const In* a, i64 step, Permutation order, u64 n, u64 q) {
  if (order.index != nullptr) {
    for (u64 i = 0; i < n; ++i) {
      x[i] = CanonicalWord(a[order.index[(i64)i * order.step] * step], q);
    }
  } else {
    for (u64 i = 0; i < n; ++i) x[i] = CanonicalWord(a[(i64)i * step], q);
  }
}

template <class Out>
void StoreRow(Out* out, i64 step, const u64* x, Permutation order, u64 n) {
  if (order.index != nullptr) {
    for (u64 i = 0; i < n; ++i) out[(i64)i * step] = (Out)x[order.index[(i64)i * order.step]];
  } else {
    for (u64 i = 0; i < n; ++i) out[(i64)i * step] = (Out)x[i];
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_ROW_H_
