// ntt and intt: rows of transforms over any layout.
#ifndef CLOAKWORK_KERNELS_NTT_TRANSFORM_H_
#define CLOAKWORK_KERNELS_NTT_TRANSFORM_H_

#include "kernels/ntt/arithmetics.h"
#include "kernels/ntt/blocks.h"

namespace cw {
namespace {

using Scalar = Harvey<ShoupProduct<U64x1>>;

// Rows that are too short for vectors, stage by stage in place.
inline void ForwardShort(const Scalar& a, u64* x, u64 n, const Twiddles& table) {
  for (u64 half = n / 2, node = 1; half > 0; half /= 2) {
    for (u64 first = 0; first < n; first += 2 * half, ++node) {
      const auto t = RawTwiddle<U64x1>::Set(table, node);
      for (u64 i = first; i < first + half; ++i) {
        U64x1 u = {x[i]}, v = {x[i + half]};
        a.Forward<0>(u, v, t);
        x[i] = u.v;
        x[i + half] = v.v;
      }
    }
  }
  for (u64 i = 0; i < n; ++i) x[i] = a.Word({x[i]}).v;
}

inline void InverseShort(const Scalar& a, u64* x, u64 n, const Twiddles& table,
                         const LastFactors& last) {
  for (u64 half = 1; half < n; half *= 2) {
    u64 node = n / half / 2;
    for (u64 first = 0; first < n; first += 2 * half, ++node) {
      const auto t = RawTwiddle<U64x1>::Set(table, node);
      for (u64 i = first; i < first + half; ++i) {
        U64x1 u = {x[i]}, v = {x[i + half]};
        a.Inverse<2, true>(u, v, t);
        x[i] = u.v;
        x[i + half] = v.v;
      }
    }
  }
  const auto scale = RawTwiddle<U64x1>::Set(last.scale);
  for (u64 i = 0; i < n; ++i) x[i] = SubIfAtLeast(a.product({x[i]}, scale), a.q).v;
}

// A row of a tensor.
template <class In>
struct Row {
  const In* data;
  i64 step;
  Permutation order;
};

// Calls body(words) with the words of a row side by side: where they lie, or gathered to x.
template <class In, class Body>
CW_INLINE void WithWords(const Row<In>& row, u64* x, u64 n, u64 q, const Body& body) {
  if (row.step == 1 && row.order.index == nullptr) return body(Words<In>{row.data, q});
  LoadRow(x, row.data, row.step, row.order, n, q);
  body(Words<u64>{x, q});
}

// x holds a row of numbers meanwhile; words in [0, q), in the order of the recurrence, go to out,
// which may be x. The row may lie at x too, if it needs no permutation.
template <class V, class In, class Out>
void ForwardRow(const Row<In>& row, u64* x, u64 n, const Twiddles& table, const NttLimb& limb,
                Out* out) {
  if (n < kLeastVectorSize) {
    LoadRow(x, row.data, row.step, row.order, n, limb.q);
    ForwardShort(Scalar(limb.q), x, n, table);
    StoreRow(out, 1, x, {nullptr, 0}, n);
    return;
  }
  WithArithmetic<V>(limb, [&](const auto& a) {
    WithWords(row, x, n, limb.q,
              [&](const auto& words) { ForwardWords(a, words, x, n, table, out); });
  });
}

template <class V, class In, class Out>
void InverseRow(const Row<In>& row, u64* x, u64 n, const Twiddles& table, const NttLimb& limb,
                i64 scale, Out* out) {
  const LastFactors last = FactorsOf(limb, table, n, scale);
  if (n < kLeastVectorSize) {
    LoadRow(x, row.data, row.step, row.order, n, limb.q);
    InverseShort(Scalar(limb.q), x, n, table, last);
    StoreRow(out, 1, x, {nullptr, 0}, n);
    return;
  }
  WithArithmetic<V>(limb, [&](const auto& a) {
    WithWords(row, x, n, limb.q,
              [&](const auto& words) { InverseWords(a, words, x, n, table, last, out); });
  });
}

// One unit of a launch. Operands: out, a, q, psi, perm; for the inverse n_inv. Axes: l, r, k, m;
// units are l, r, k.
template <class In, class Out>
struct RowOf {
  const NttLimb& limb;
  const In* a;
  Out* out;
  i64 a_step, out_step;
  Permutation order;

  RowOf(const cw_launch& launch, const NttPlan& plan, u64 row)
      : limb(plan.Limb(launch, row % plan.limbs)),
        a(Data<const In>(launch, 1) + Offset(launch, 1, row)),
        out(Data<Out>(launch, 0) + Offset(launch, 0, row)),
        a_step(Strides(launch, 1)[3]),
        out_step(Strides(launch, 0)[3]),
        order{nullptr, 0} {
    if (limb.order == RowOrder::kPermuted) {
      order = {Data<const i64>(launch, 4), Strides(launch, 4)[3]};
    }
  }

  static i64 Offset(const cw_launch& launch, u32 operand, u64 row) {
    const i64* strides = Strides(launch, operand);
    const u64 limbs = Dim(launch, 2), rows = Dim(launch, 1);
    return (i64)(row % limbs) * strides[2] + (i64)(row / limbs % rows) * strides[1] +
           (i64)(row / limbs / rows) * strides[0];
  }

  // Where numbers lie between passes: in the result if it takes them.
  u64* Workplace(void* scratch) const {
    const bool fits = sizeof(Out) == sizeof(u64) && out_step == 1 && order.index == nullptr;
    return fits ? reinterpret_cast<u64*>(out) : static_cast<u64*>(scratch);
  }
};

template <class V, class In, class Out>
void ForwardNtt(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const NttPlan plan(launch);
  for (u64 unit = begin; unit < end; ++unit) {
    const RowOf<In, Out> row(launch, plan, unit);
    const Twiddles table = plan.Table(row.limb);
    const Row<In> source = {row.a, row.a_step, {nullptr, 0}};
    u64* x = row.Workplace(scratch);
    if (row.out_step == 1 && row.order.index == nullptr) {
      ForwardRow<V>(source, x, plan.size, table, row.limb, row.out);
    } else {
      ForwardRow<V>(source, x, plan.size, table, row.limb, x);
      StoreRow(row.out, row.out_step, x, row.order, plan.size);
    }
  }
}

template <class V, class In, class Out>
void InverseNtt(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const NttPlan plan(launch);
  for (u64 unit = begin; unit < end; ++unit) {
    const RowOf<In, Out> row(launch, plan, unit);
    const Twiddles table = plan.Table(row.limb);
    const Row<In> source = {row.a, row.a_step, row.order};
    const i64 limb = (i64)(unit % plan.limbs);
    const i64 scale = Data<const Out>(launch, 5)[limb * Strides(launch, 5)[2]];
    u64* x = row.Workplace(scratch);
    if (row.out_step == 1) {
      InverseRow<V>(source, x, plan.size, table, row.limb, scale, row.out);
    } else {
      InverseRow<V>(source, x, plan.size, table, row.limb, scale, x);
      StoreRow(row.out, row.out_step, x, {nullptr, 0}, plan.size);
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_TRANSFORM_H_
