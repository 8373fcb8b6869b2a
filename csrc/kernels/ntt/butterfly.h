// Harvey's lazy butterflies, and passes of two stages over a block of a transform.
//
// A block is a node of the tree of sub-transforms: node 1 is the whole row, the halves of node i
// are 2i and 2i + 1, and the butterfly that splits node i uses twiddle i of the table.
#ifndef CLOAKWORK_KERNELS_NTT_BUTTERFLY_H_
#define CLOAKWORK_KERNELS_NTT_BUTTERFLY_H_

#include "kernels/ntt/ntt_plan.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

template <class V>
struct LaneTwiddle {
  V w, shoup;

  static CW_INLINE LaneTwiddle Set(const Twiddles& table, u64 node) {
    return {V::Set(table.value[node]), V::Set(table.shoup[node])};
  }
  // As many twiddles as fill a vector when each is repeated `repeat` times.
  template <int repeat>
  static CW_INLINE LaneTwiddle Load(const Twiddles& table, u64 node) {
    return {V::template LoadRepeated<repeat>(table.value + node),
            V::template LoadRepeated<repeat>(table.shoup + node)};
  }
};

template <class V>
struct LanePrime {
  V q, two_q;

  static CW_INLINE LanePrime Set(u64 q) { return {V::Set(q), V::Set(2 * q)}; }
};

// (x, y) <- (x + w y, x - w y) mod q.  x, y in [0, 4q), and again on return.
template <class V>
CW_INLINE void ForwardButterfly(V& x, V& y, const LaneTwiddle<V>& t, const LanePrime<V>& p) {
  const V u = SubIfAtLeast(x, p.two_q);
  const V v = MulShoupLazy(y, t.w, t.shoup, p.q);
  x = Add(u, v);
  y = Add(Sub(u, v), p.two_q);
}

// (x, y) <- (x + y, w (x - y)) mod q.  x, y in [0, 2q), and again on return.
template <class V>
CW_INLINE void InverseButterfly(V& x, V& y, const LaneTwiddle<V>& t, const LanePrime<V>& p) {
  const V difference = Add(Sub(x, y), p.two_q);
  x = SubIfAtLeast(Add(x, y), p.two_q);
  y = MulShoupLazy(difference, t.w, t.shoup, p.q);
}

// One stage over a block of 2 * half elements.
template <class V, bool inverse>
CW_INLINE void Radix2Pass(u64* x, u64 half, u64 node, const Twiddles& table, u64 q) {
  const auto p = LanePrime<V>::Set(q);
  const auto t = LaneTwiddle<V>::Set(table, node);
  for (u64 i = 0; i < half; i += V::kLanes) {
    V x0 = V::Load(x + i), x1 = V::Load(x + half + i);
    inverse ? InverseButterfly(x0, x1, t, p) : ForwardButterfly(x0, x1, t, p);
    x0.Store(x + i);
    x1.Store(x + half + i);
  }
}

// Two stages over a block of 4 * quarter elements, from source to x; they may be the same.
// Returns OutsideBit of what was read, against q.
template <class V, class In>
CW_INLINE V ForwardRadix4Pass(const In* source, u64* x, u64 quarter, u64 node,
                              const Twiddles& table, u64 q) {
  const auto p = LanePrime<V>::Set(q);
  const auto t = LaneTwiddle<V>::Set(table, node);
  const auto t0 = LaneTwiddle<V>::Set(table, 2 * node);
  const auto t1 = LaneTwiddle<V>::Set(table, 2 * node + 1);
  const V last = V::Set(q - 1);
  V outside = V::Set(0);
  for (u64 i = 0; i < quarter; i += V::kLanes) {
    V x0 = V::Load(source + i), x1 = V::Load(source + quarter + i);
    V x2 = V::Load(source + 2 * quarter + i), x3 = V::Load(source + 3 * quarter + i);
    const V outside_low = Or(OutsideBit(x0, last), OutsideBit(x1, last));
    const V outside_high = Or(OutsideBit(x2, last), OutsideBit(x3, last));
    outside = Or(outside, Or(outside_low, outside_high));
    ForwardButterfly(x0, x2, t, p);
    ForwardButterfly(x1, x3, t, p);
    ForwardButterfly(x0, x1, t0, p);
    ForwardButterfly(x2, x3, t1, p);
    x0.Store(x + i);
    x1.Store(x + quarter + i);
    x2.Store(x + 2 * quarter + i);
    x3.Store(x + 3 * quarter + i);
  }
  return outside;
}

template <class V>
CW_INLINE void InverseRadix4Pass(u64* x, u64 quarter, u64 node, const Twiddles& table, u64 q) {
  const auto p = LanePrime<V>::Set(q);
  const auto t = LaneTwiddle<V>::Set(table, node);
  const auto t0 = LaneTwiddle<V>::Set(table, 2 * node);
  const auto t1 = LaneTwiddle<V>::Set(table, 2 * node + 1);
  for (u64 i = 0; i < quarter; i += V::kLanes) {
    V x0 = V::Load(x + i), x1 = V::Load(x + quarter + i);
    V x2 = V::Load(x + 2 * quarter + i), x3 = V::Load(x + 3 * quarter + i);
    InverseButterfly(x0, x1, t0, p);
    InverseButterfly(x2, x3, t1, p);
    InverseButterfly(x0, x2, t, p);
    InverseButterfly(x1, x3, t, p);
    x0.Store(x + i);
    x1.Store(x + quarter + i);
    x2.Store(x + 2 * quarter + i);
    x3.Store(x + 3 * quarter + i);
  }
}

// The stages inside a pair of vectors, which hold 2 * kLanes neighbours. Exchange<step> swaps the
// second run of `step` lanes of x with the first of y, in each 2 * step lanes, and undoes itself;
// after it, partners at distance `step` stand in the same lane of x and y.
template <class V, int step>
CW_INLINE void ForwardInside(V& x, V& y, u64 node, const Twiddles& table, const LanePrime<V>& p) {
  if constexpr (step > 0) {
    Exchange<step>(x, y);
    const auto t = LaneTwiddle<V>::template Load<step>(table, node);
    ForwardButterfly(x, y, t, p);
    ForwardInside<V, step / 2>(x, y, 2 * node, table, p);
  }
}

template <class V, int step>
CW_INLINE void InverseInside(V& x, V& y, u64 node, const Twiddles& table, const LanePrime<V>& p) {
  if constexpr (step > 0) {
    InverseInside<V, step / 2>(x, y, 2 * node, table, p);
    const auto t = LaneTwiddle<V>::template Load<step>(table, node);
    InverseButterfly(x, y, t, p);
    Exchange<step>(x, y);
  }
}

// Brings neighbours into the order of the finest stage, or back.
template <class V, int step>
CW_INLINE void Spread(V& x, V& y) {
  if constexpr (step > 0) {
    Exchange<step>(x, y);
    Spread<V, step / 2>(x, y);
  }
}
template <class V, int step>
CW_INLINE void Collect(V& x, V& y) {
  if constexpr (step > 0) {
    Collect<V, step / 2>(x, y);
    Exchange<step>(x, y);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_BUTTERFLY_H_
