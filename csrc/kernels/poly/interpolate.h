// The polynomial through points, and products with sparse matrices.
#ifndef CLOAKWORK_KERNELS_POLY_INTERPOLATE_H_
#define CLOAKWORK_KERNELS_POLY_INTERPOLATE_H_

#include "kernels/poly/recurrences.h"

namespace cw {
namespace {

// Operands: out, xs, ys. dims: rows. params: points, strides of out, xs, ys. All x are distinct.
// Newton's divided differences, then conversion to coefficients. scratch: 3 n elements.
template <class V, class In, class Out>
void Interpolate(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const u64 n = (u64)launch.params[0];
  const i64 to = launch.params[1], xs_step = launch.params[2], ys_step = launch.params[3];
  auto* difference = static_cast<Out*>(scratch);
  Out *inverse = difference + n, *products = inverse + n;
  for (u64 unit = begin; unit < end; ++unit) {
    const Out* xs = UnitData<const Out>(launch, 1, unit);
    const Out* ys = UnitData<const Out>(launch, 2, unit);
    Out* out = UnitData<Out>(launch, 0, unit);
    auto x = [&](u64 i) { return xs[(i64)i * xs_step]; };
    for (u64 i = 0; i < n; ++i) difference[i] = ys[(i64)i * ys_step];
    for (u64 order = 1; order < n; ++order) {
      for (u64 i = order; i < n; ++i) inverse[i] = Sub(x(i), x(i - order));
      InvertEach(inverse + order, inverse + order, n - order, 1, products);
      for (u64 i = n; i-- > order;) {
        difference[i] = Mul(Sub(difference[i], difference[i - 1]), inverse[i]);
      }
    }
    // p = d_(n-1); p = p (X - x_i) + d_i for i = n - 2 .. 0.
    for (u64 i = n; i-- > 0;) {
      const u64 degree = n - 1 - i;  // of p after this step
      for (u64 k = degree; k > 0; --k) {
        const Out below = out[(i64)(k - 1) * to];
        const Out own = k < degree ? Mul(out[(i64)k * to], x(i)) : ZeroOf<Out>();
        out[(i64)k * to] = Sub(below, own);
      }
      out[0] = degree > 0 ? Sub(difference[i], Mul(out[0], x(i))) : difference[i];
    }
  }
}

// Operands: out, starts (i64; one for each row and one more), columns (i64), values, x; the last
// three at their first element. dims: rows. params: distance of starts, of columns, of values, of
// x. out = sum_k values[k] x[columns[k]], k from starts[row] to before starts[row + 1].
template <class V, class In, class Out>
void SparseRows(const cw_launch& launch, u64 begin, u64 end, void*) {
  const i64 start_step = launch.params[0], column_step = launch.params[1];
  const i64 value_step = launch.params[2], x_step = launch.params[3];
  const i64* columns = Data<const i64>(launch, 2);
  const Out* values = Data<const Out>(launch, 3);
  const Out* x = Data<const Out>(launch, 4);
  for (u64 unit = begin; unit < end; ++unit) {
    const i64* starts = UnitData<const i64>(launch, 1, unit);
    Out sum = ZeroOf<Out>();
    for (i64 k = starts[0]; k < starts[start_step]; ++k) {
      const Out factor = x[columns[k * column_step] * x_step];
      sum = Add(sum, Mul(values[k * value_step], factor));
    }
    *UnitData<Out>(launch, 0, unit) = sum;
  }
}

// Operands: out, a. dims: kept..., n; units: kept. Running sums and products.
template <class Out, class Join>
CW_INLINE void Running(const cw_launch& launch, u64 begin, u64 end, Join join) {
  const u32 last = launch.rank - 1;
  const i64 to = Strides(launch, 0)[last], step = Strides(launch, 1)[last];
  for (u64 unit = begin; unit < end; ++unit) {
    const i64 at = OffsetAt(unit, last, launch.dims, Strides(launch, 0));
    const i64 from = OffsetAt(unit, last, launch.dims, Strides(launch, 1));
    Out* out = Data<Out>(launch, 0) + at;
    const Out* a = Data<const Out>(launch, 1) + from;
    for (u64 i = 0; i < Dim(launch, last); ++i) {
      const Out own = a[(i64)i * step];
      out[(i64)i * to] = i == 0 ? own : join(out[(i64)(i - 1) * to], own);
    }
  }
}
template <class V, class In, class Out>
void RunningSum(const cw_launch& launch, u64 begin, u64 end, void*) {
  Running<Out>(launch, begin, end, [](const Out& a, const Out& b) { return Add(a, b); });
}
template <class V, class In, class Out>
void RunningProduct(const cw_launch& launch, u64 begin, u64 end, void*) {
  Running<Out>(launch, begin, end, [](const Out& a, const Out& b) { return Mul(a, b); });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_INTERPOLATE_H_
