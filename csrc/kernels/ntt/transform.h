// ntt and intt: rows of transforms over any layout.
#ifndef CLOAKWORK_KERNELS_NTT_TRANSFORM_H_
#define CLOAKWORK_KERNELS_NTT_TRANSFORM_H_

#include "kernels/ntt/butterfly.h"

namespace cw {
namespace {

// Blocks up to this many elements are done stage by stage, larger ones quarter by quarter: 16 KB
// of data leave room in a first-level cache for the twiddles that stream past.
constexpr u64 kCachedElements = 2048;

// Stages down to blocks of one element. n >= 2 * kLanes. x in [0, 4q); canonical words go to out.
template <class V, class Out>
void ForwardBlock(u64* x, u64 n, u64 node, const Twiddles& table, u64 q, Out* out) {
  constexpr u64 kPair = 2 * V::kLanes;
  if (n > kCachedElements) {
    ForwardRadix4Pass<V>(x, x, n / 4, node, table, q);
    for (u64 i = 0; i < 4; ++i) {
      const u64 first = i * (n / 4);
      ForwardBlock<V>(x + first, n / 4, 4 * node + i, table, q, out + first);
    }
    return;
  }
  u64 span = n;
  for (; span >= 4 * kPair; span /= 4, node *= 4) {
    for (u64 i = 0; i < n / span; ++i) {
      ForwardRadix4Pass<V>(x + i * span, x + i * span, span / 4, node + i, table, q);
    }
  }
  if (span == 2 * kPair) {
    for (u64 i = 0; i < n / span; ++i) {
      Radix2Pass<V, false>(x + i * span, span / 2, node + i, table, q);
    }
    node *= 2;
  }
  const auto p = LanePrime<V>::Set(q);
  for (u64 i = 0; i < n; i += kPair, ++node) {
    V x0 = V::Load(x + i), x1 = V::Load(x + i + V::kLanes);
    ForwardButterfly(x0, x1, LaneTwiddle<V>::Set(table, node), p);
    ForwardInside<V, V::kLanes / 2>(x0, x1, 2 * node, table, p);
    Collect<V, V::kLanes / 2>(x0, x1);
    SubIfAtLeast(SubIfAtLeast(x0, p.two_q), p.q).Store(out + i);
    SubIfAtLeast(SubIfAtLeast(x1, p.two_q), p.q).Store(out + i + V::kLanes);
  }
}

// Stages up from blocks of one element. n >= 2 * kLanes. x in [0, 2q), and again on return.
template <class V>
void InverseBlock(u64* x, u64 n, u64 node, const Twiddles& table, u64 q) {
  constexpr u64 kPair = 2 * V::kLanes;
  if (n > kCachedElements) {
    for (u64 i = 0; i < 4; ++i) {
      InverseBlock<V>(x + i * (n / 4), n / 4, 4 * node + i, table, q);
    }
    InverseRadix4Pass<V>(x, n / 4, node, table, q);
    return;
  }
  const auto p = LanePrime<V>::Set(q);
  u64 leaf = node * (n / kPair);
  for (u64 i = 0; i < n; i += kPair, ++leaf) {
    V x0 = V::Load(x + i), x1 = V::Load(x + i + V::kLanes);
    Spread<V, V::kLanes / 2>(x0, x1);
    InverseInside<V, V::kLanes / 2>(x0, x1, 2 * leaf, table, p);
    InverseButterfly(x0, x1, LaneTwiddle<V>::Set(table, leaf), p);
    x0.Store(x + i);
    x1.Store(x + i + V::kLanes);
  }
  u64 span = kPair;
  for (; 4 * span <= n; span *= 4) {
    const u64 first = node * (n / (4 * span));
    for (u64 i = 0; i < n / (4 * span); ++i) {
      InverseRadix4Pass<V>(x + i * 4 * span, span, first + i, table, q);
    }
  }
  if (span < n) Radix2Pass<V, true>(x, span, node, table, q);
}

// A word to [0, q). Digits may be negative, and are then small.
CW_INLINE u64 CanonicalWord(i64 word, u64 q) {
  const u64 lifted = (u64)word + (q & (u64)(word >> 63));
  return __builtin_expect(lifted < q, 1) ? lifted : CanonicalRemainder(word, q);
}

// Reads a row, reduced to [0, q), optionally through a permutation.
template <class In>
void LoadRow(u64* x, const In* a, i64 step, const u32* order, u64 n, u64 q) {
  if (order != nullptr) {
    for (u64 i = 0; i < n; ++i) x[i] = CanonicalWord(a[(i64)order[i] * step], q);
  } else {
    for (u64 i = 0; i < n; ++i) x[i] = CanonicalWord(a[(i64)i * step], q);
  }
}

template <class Out>
void StoreRow(Out* out, i64 step, const u64* x, const u32* order, u64 n) {
  if (order == nullptr) {
    for (u64 i = 0; i < n; ++i) out[(i64)i * step] = (Out)x[i];
  } else if (step == 1) {
    for (u64 i = 0; i < n; ++i) out[i] = (Out)x[order[i]];
  } else {
    for (u64 i = 0; i < n; ++i) out[(i64)i * step] = (Out)x[order[i]];
  }
}

// One row: canonical results in natural order of the recurrence, to out.
template <class V, class In, class Out>
void ForwardRow(const In* a, i64 step, u64* x, u64 n, const Twiddles& table, u64 q, Out* out) {
  if (step == 1 && n >= 8 * V::kLanes) {
    const V outside = ForwardRadix4Pass<V>(a, x, n / 4, 1, table, q);
    if (__builtin_expect(AnyTopBit(outside), 0)) {
      LoadRow(x, a, step, nullptr, n, q);
      ForwardRadix4Pass<V>(x, x, n / 4, 1, table, q);
    }
    for (u64 i = 0; i < 4; ++i) {
      ForwardBlock<V>(x + i * (n / 4), n / 4, 4 + i, table, q, out + i * (n / 4));
    }
    return;
  }
  LoadRow(x, a, step, nullptr, n, q);
  if (n >= 2 * V::kLanes) {
    ForwardBlock<V>(x, n, 1, table, q, out);
  } else if (n >= 2) {
    ForwardBlock<U64x1>(x, n, 1, table, q, out);
  } else {
    out[0] = (Out)x[0];
  }
}

struct RowOffsets {
  u64 limb;
  i64 out, a;

  RowOffsets(const cw_launch& launch, u64 row)
      : limb(row % Dim(launch, 2)), out(OffsetAt3(launch, 0, row)), a(OffsetAt3(launch, 1, row)) {}

  static i64 OffsetAt3(const cw_launch& launch, u32 operand, u64 row) {
    const i64* strides = Strides(launch, operand);
    const u64 limbs = Dim(launch, 2), rows = Dim(launch, 1);
    return (i64)(row % limbs) * strides[2] + (i64)(row / limbs % rows) * strides[1] +
           (i64)(row / limbs / rows) * strides[0];
  }
};

// Operands: out, a, q, psi, perm. Axes: l, r, k, m; units are l, r, k.
template <class V, class In, class Out>
void ForwardNtt(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const NttPlan plan(launch);
  auto* x = static_cast<u64*>(scratch);
  const u32* order = nullptr;
  if (launch.data[4] != nullptr) order = plan.Permutation(launch.prepared);
  const i64 out_step = Strides(launch, 0)[3], a_step = Strides(launch, 1)[3];
  for (u64 row = begin; row < end; ++row) {
    const RowOffsets at(launch, row);
    const Twiddles table = plan.TwiddlesOf(launch.prepared, at.limb);
    const u64 q = plan.ModulusOf(launch.prepared, at.limb).q;
    const In* a = Data<const In>(launch, 1) + at.a;
    Out* out = Data<Out>(launch, 0) + at.out;
    if (order == nullptr && out_step == 1) {
      ForwardRow<V>(a, a_step, x, plan.size, table, q, out);
    } else {
      ForwardRow<V>(a, a_step, x, plan.size, table, q, x);
      StoreRow(out, out_step, x, order, plan.size);
    }
  }
}

// x * n_inv mod q, canonical, for x in [0, 2q). out may be x.
template <class V, class Out>
CW_INLINE void ScaleRow(const u64* x, u64 n, const NttModulus& m, Out* out) {
  const V scale = V::Set(m.scale), shoup = V::Set(m.scale_shoup), q = V::Set(m.q);
  for (u64 i = 0; i < n; i += V::kLanes) {
    SubIfAtLeast(MulShoupLazy(V::Load(x + i), scale, shoup, q), q).Store(out + i);
  }
}

// One row from x, which is overwritten, to out.
template <class V, class Out>
void InverseRow(u64* x, u64 n, const Twiddles& table, const NttModulus& m, Out* out) {
  if (n >= 2 * V::kLanes) {
    InverseBlock<V>(x, n, 1, table, m.q);
    ScaleRow<V>(x, n, m, out);
    return;
  }
  if (n >= 2) InverseBlock<U64x1>(x, n, 1, table, m.q);
  ScaleRow<U64x1>(x, n, m, out);
}

// Operands: out, a, q, psi_inv, perm, n_inv. Axes and units as above.
template <class V, class In, class Out>
void InverseNtt(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const NttPlan plan(launch);
  auto* x = static_cast<u64*>(scratch);
  const u32* order = nullptr;
  if (launch.data[4] != nullptr) order = plan.Permutation(launch.prepared);
  for (u64 row = begin; row < end; ++row) {
    const RowOffsets at(launch, row);
    const Twiddles table = plan.TwiddlesOf(launch.prepared, at.limb);
    const NttModulus& m = plan.ModulusOf(launch.prepared, at.limb);
    const In* a = Data<const In>(launch, 1) + at.a;
    LoadRow(x, a, Strides(launch, 1)[3], order, plan.size, m.q);
    Out* out = Data<Out>(launch, 0) + at.out;
    const i64 out_step = Strides(launch, 0)[3];
    if (out_step == 1) {
      InverseRow<V>(x, plan.size, table, m, out);
    } else {
      InverseRow<V>(x, plan.size, table, m, x);
      StoreRow(out, out_step, x, nullptr, plan.size);
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_TRANSFORM_H_
