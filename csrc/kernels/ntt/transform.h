// ntt and intt: rows of transforms over any layout.
#ifndef CLOAKWORK_KERNELS_NTT_TRANSFORM_H_
#define CLOAKWORK_KERNELS_NTT_TRANSFORM_H_

#include "kernels/ntt/arithmetics.h"
#include "kernels/ntt/blocks.h"
#include "kernels/ntt/reorder.h"

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

// Calls body(words) with the words of a row, contiguous: in place, or copied to x.
template <class V, class In, class Body>
CW_INLINE void WithWords(const Row<const In>& row, u64* x, u64 n, u64 q, const Body& body) {
  if (row.Plain()) return body(Words<In>{row.data, q});
  LoadRow<V>(x, row, n, q);
  body(Words<u64>{x, q});
}

template <class In>
void LoadShort(u64* x, const Row<const In>& row, u64 n, u64 q) {
  LoadRow<U64x1>(x, row, n, q);
  for (u64 i = 0; i < n; ++i) x[i] = CanonicalWord((i64)x[i], q);
}

// x holds a row of numbers between passes; words in [0, q), in the order of the recurrence, go to
// out, which may be x. A plain row may also be at x.
template <class V, class In, class Out>
void ForwardRow(const Row<const In>& row, u64* x, u64 n, const NttLimb& limb, Out* out) {
  const Twiddles table = TableOf(limb, n);
  if (n < kLeastVectorSize) {
    LoadShort(x, row, n, limb.q);
    ForwardShort(Scalar(limb.q), x, n, table);
    for (u64 i = 0; i < n; ++i) out[i] = (Out)x[i];
    return;
  }
  WithArithmetic<V>(limb, [&](const auto& a) {
    WithWords<V>(row, x, n, limb.q,
                 [&](const auto& words) { ForwardWords(a, words, x, n, table, out); });
  });
}

template <class V, class In, class Out>
void InverseRow(const Row<const In>& row, u64* x, u64 n, const NttLimb& limb, i64 scale,
                Out* out) {
  const Twiddles table = TableOf(limb, n);
  const LastFactors last = FactorsOf(limb, table, n, scale);
  if (n < kLeastVectorSize) {
    LoadShort(x, row, n, limb.q);
    InverseShort(Scalar(limb.q), x, n, table, last);
    for (u64 i = 0; i < n; ++i) out[i] = (Out)x[i];
    return;
  }
  WithArithmetic<V>(limb, [&](const auto& a) {
    WithWords<V>(row, x, n, limb.q,
                 [&](const auto& words) { InverseWords(a, words, x, n, table, last, out); });
  });
}

// One unit of a launch. Operands: out, a, q, psi, perm; for the inverse n_inv. Axes: l, r, k, m;
// units are l, r, k. The permutation is of the side that is not in the transform's order: the
// result of a forward one, the operand of an inverse one.
template <bool inverse, class In, class Out>
struct RowsOf {
  const NttLimb& limb;
  Row<const In> a;
  Row<Out> out;

  RowsOf(const cw_launch& launch, u64 unit)
      : limb(LimbOf(launch, unit % Dim(launch, 2))),
        a(RowAt<const In, inverse>(launch, 1, unit)),
        out(RowAt<Out, !inverse>(launch, 0, unit)) {}

  template <class T, bool permuted>
  Row<T> RowAt(const cw_launch& launch, u32 operand, u64 unit) const {
    const i64* strides = Strides(launch, operand);
    const u64 limbs = Dim(launch, 2), rows = Dim(launch, 1);
    T* data = Data<T>(launch, operand) + (i64)(unit % limbs) * strides[2] +
              (i64)(unit / limbs % rows) * strides[1] + (i64)(unit / limbs / rows) * strides[0];
    return {data, strides[3], permuted ? limb.order : RowOrder::kOfTransform,
            Data<const i64>(launch, 4), Strides(launch, 4)[3]};
  }

  // The memory of numbers between passes: the result, if it can hold them and no later step reads
  // it.
  u64* Workplace(void* scratch) const {
    const bool fits =
        sizeof(Out) == sizeof(u64) && out.Plain() && limb.order == RowOrder::kOfTransform;
    return fits ? reinterpret_cast<u64*>(out.data) : static_cast<u64*>(scratch);
  }
};

// Calls body(unit) for the units of one limb after another, so that its twiddles stay in a cache.
template <class Body>
CW_INLINE void ForEachUnit(const cw_launch& launch, u64 begin, u64 end, const Body& body) {
  const u64 limbs = Dim(launch, 2);
  for (u64 first = begin; first < Min(begin + limbs, end); ++first) {
    for (u64 unit = first; unit < end; unit += limbs) body(unit);
  }
}

template <class V, class In, class Out>
void ForwardNtt(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const u64 n = Dim(launch, 3);
  ForEachUnit(launch, begin, end, [&](u64 unit) {
    const RowsOf<false, In, Out> rows(launch, unit);
    u64* x = rows.Workplace(scratch);
    if (rows.out.Plain()) {
      ForwardRow<V>(rows.a, x, n, rows.limb, rows.out.data);
    } else {
      ForwardRow<V>(rows.a, x, n, rows.limb, x);
      StoreRow<V>(rows.out, x, n);
    }
  });
}

template <class V, class In, class Out>
void InverseNtt(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const u64 n = Dim(launch, 3);
  ForEachUnit(launch, begin, end, [&](u64 unit) {
    const RowsOf<true, In, Out> rows(launch, unit);
    const i64 limb = (i64)(unit % Dim(launch, 2));
    const i64 scale = Data<const Out>(launch, 5)[limb * Strides(launch, 5)[2]];
    u64* x = rows.Workplace(scratch);
    if (rows.out.Plain()) {
      InverseRow<V>(rows.a, x, n, rows.limb, scale, rows.out.data);
    } else {
      InverseRow<V>(rows.a, x, n, rows.limb, scale, x);
      StoreRow<V>(rows.out, x, n);
    }
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_TRANSFORM_H_
