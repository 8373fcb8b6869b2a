// Evaluation, division by X - b, and running products.
//
// Each has three steps over runs of a row: the result of each run by itself; the carry from the
// other runs into each run; the elements of each run. The first and the last are split over units.
#ifndef CLOAKWORK_KERNELS_POLY_RECURRENCES_H_
#define CLOAKWORK_KERNELS_POLY_RECURRENCES_H_

#include "kernels/poly/groups.h"

namespace cw {
namespace {

// Operands: out (a run's value, runs side by side), a, x. dims: rows..., groups of runs.
// params: elements of a row, their stride. out[r] = sum_i a[r kRun + i] x^i.
template <class V, class In, class Out>
void HornerRuns(const cw_launch& launch, u64 begin, u64 end, void*) {
  using G = typename GroupOf<Out>::Type;
  const i64 step = launch.params[1];
  for (u64 unit = begin; unit < end; ++unit) {
    const RunsOfUnit part(GroupOfUnit(launch, unit), (u64)launch.params[0]);
    Out* out = UnitData<Out>(launch, 0, unit);
    const Out* a = UnitData<const Out>(launch, 1, unit);
    const Out x = *UnitData<const Out>(launch, 2, unit);
    if (part.whole) {
      const auto factor = G::MakeFactor(x);
      const i64 apart = (i64)kRun * step;
      auto h = G::Load(a + (i64)(kRun - 1) * step, apart);
      for (u64 i = kRun - 1; i-- > 0;) h = G::MulAdd(h, factor, G::Load(a + (i64)i * step, apart));
      G::Store(h, out, 1);
      continue;
    }
    for (u64 run = 0; run < part.runs; ++run) {
      const u64 first = run * kRun, last = Min(first + kRun, part.end - part.begin);
      Out h = ZeroOf<Out>();
      for (u64 i = last; i-- > first;) h = Add(Mul(h, x), a[(i64)i * step]);
      out[run] = h;
    }
  }
}

// Operands: out, values of runs (side by side), x. dims: rows. params: runs.
// out = sum_r value_r x^(kRun r).
template <class V, class In, class Out>
void HornerJoin(const cw_launch& launch, u64 begin, u64 end, void*) {
  for (u64 unit = begin; unit < end; ++unit) {
    const Out* values = UnitData<const Out>(launch, 1, unit);
    const Out x = Power(*UnitData<const Out>(launch, 2, unit), kRun);
    Out h = ZeroOf<Out>();
    for (u64 run = (u64)launch.params[0]; run-- > 0;) h = Add(Mul(h, x), values[run]);
    *UnitData<Out>(launch, 0, unit) = h;
  }
}

// Operands: out, values of runs (both contiguous), b. dims: rows. params: runs.
// out_r = sum_(s > r) value_s b^(kRun (s - r - 1)): the carry from the runs above.
template <class V, class In, class Out>
void KateCarries(const cw_launch& launch, u64 begin, u64 end, void*) {
  for (u64 unit = begin; unit < end; ++unit) {
    const Out* values = UnitData<const Out>(launch, 1, unit);
    const Out b = Power(*UnitData<const Out>(launch, 2, unit), kRun);
    Out* out = UnitData<Out>(launch, 0, unit);
    Out h = ZeroOf<Out>();
    for (u64 run = (u64)launch.params[0]; run-- > 0;) {
      const Out value = values[run];
      out[run] = h;
      h = Add(Mul(h, b), value);
    }
  }
}

// Operands: out, a, b, carries (side by side). dims: rows..., groups. params: elements of a row,
// stride of a, of out, elements of out's row. out_(n - 1) = 0, out_(i - 1) = a_i + b out_i.
template <class V, class In, class Out>
void KateRuns(const cw_launch& launch, u64 begin, u64 end, void*) {
  using G = typename GroupOf<Out>::Type;
  const i64 step = launch.params[1], to = launch.params[2];
  for (u64 unit = begin; unit < end; ++unit) {
    const RunsOfUnit part(GroupOfUnit(launch, unit), (u64)launch.params[0]);
    Out* out = UnitData<Out>(launch, 0, unit);
    const Out* a = UnitData<const Out>(launch, 1, unit);
    const Out b = *UnitData<const Out>(launch, 2, unit);
    const Out* carries = UnitData<const Out>(launch, 3, unit);
    const u64 kept = Min(part.end, (u64)launch.params[3]) - part.begin;
    if (part.whole && kept == kTogether * kRun) {
      const auto factor = G::MakeFactor(b);
      auto h = G::Load(carries, 1);
      for (u64 i = kRun; i-- > 0;) {
        const auto own = G::Load(a + (i64)i * step, (i64)kRun * step);
        G::Store(h, out + (i64)i * to, (i64)kRun * to);
        h = G::MulAdd(h, factor, own);
      }
      continue;
    }
    for (u64 run = 0; run < part.runs; ++run) {
      const u64 first = run * kRun, last = Min(first + kRun, part.end - part.begin);
      Out h = carries[run];
      for (u64 i = last; i-- > first;) {
        const Out own = a[(i64)i * step];
        if (i < kept) out[(i64)i * to] = h;
        h = Add(Mul(h, b), own);
      }
    }
  }
}

// Operands: out (a run's value, runs side by side), a. dims: rows..., groups. params: elements of
// a row, their stride. out[r] = prod_i a[r kRun + i].
template <class V, class In, class Out>
void ProductRuns(const cw_launch& launch, u64 begin, u64 end, void*) {
  using G = typename GroupOf<Out>::Type;
  const i64 step = launch.params[1];
  for (u64 unit = begin; unit < end; ++unit) {
    const RunsOfUnit part(GroupOfUnit(launch, unit), (u64)launch.params[0]);
    Out* out = UnitData<Out>(launch, 0, unit);
    const Out* a = UnitData<const Out>(launch, 1, unit);
    if (part.whole) {
      const i64 apart = (i64)kRun * step;
      auto h = G::Load(a, apart);
      for (u64 i = 1; i < kRun; ++i) h = G::MulAt(h, a + (i64)i * step, apart);
      G::Store(h, out, 1);
      continue;
    }
    for (u64 run = 0; run < part.runs; ++run) {
      const u64 first = run * kRun, last = Min(first + kRun, part.end - part.begin);
      Out h = OneOf<Out>();
      for (u64 i = first; i < last; ++i) h = Mul(h, a[(i64)i * step]);
      out[run] = h;
    }
  }
}

// Operands: out, values of runs (both side by side), start. dims: rows. params: runs.
// out_r = start prod_(s < r) value_s.
template <class V, class In, class Out>
void ScanCarries(const cw_launch& launch, u64 begin, u64 end, void*) {
  for (u64 unit = begin; unit < end; ++unit) {
    const Out* values = UnitData<const Out>(launch, 1, unit);
    Out* out = UnitData<Out>(launch, 0, unit);
    Out h = *UnitData<const Out>(launch, 2, unit);
    for (u64 run = 0; run < (u64)launch.params[0]; ++run) {
      const Out value = values[run];
      out[run] = h;
      h = Mul(h, value);
    }
  }
}

// Operands: out, a, carries (side by side). dims: rows..., groups. params: elements of a row,
// stride of a, of out. out_0 = the carry, out_(i + 1) = out_i a_i.
template <class V, class In, class Out>
void ScanRuns(const cw_launch& launch, u64 begin, u64 end, void*) {
  using G = typename GroupOf<Out>::Type;
  const i64 step = launch.params[1], to = launch.params[2];
  for (u64 unit = begin; unit < end; ++unit) {
    const RunsOfUnit part(GroupOfUnit(launch, unit), (u64)launch.params[0]);
    Out* out = UnitData<Out>(launch, 0, unit);
    const Out* a = UnitData<const Out>(launch, 1, unit);
    const Out* carries = UnitData<const Out>(launch, 2, unit);
    if (part.whole) {
      auto h = G::Load(carries, 1);
      for (u64 i = 0; i < kRun; ++i) {
        const auto next = G::MulAt(h, a + (i64)i * step, (i64)kRun * step);
        G::Store(h, out + (i64)i * to, (i64)kRun * to);
        h = next;
      }
      continue;
    }
    for (u64 run = 0; run < part.runs; ++run) {
      const u64 first = run * kRun, last = Min(first + kRun, part.end - part.begin);
      Out h = carries[run];
      for (u64 i = first; i < last; ++i) {
        const Out own = a[(i64)i * step];
        out[(i64)i * to] = h;
        h = Mul(h, own);
      }
    }
  }
}

// Operands: out, x, start (null: 1). dims: blocks of kRun. params: elements, stride of out.
// out_i = start x^i.
template <class V, class In, class Out>
void PowersRuns(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u64 n = (u64)launch.params[0];
  const i64 to = launch.params[1];
  for (u64 unit = begin; unit < end; ++unit) {
    const u64 first = GroupOfUnit(launch, unit) * kRun, count = Min(kRun, n - first);
    const Out x = *UnitData<const Out>(launch, 1, unit);
    Out h = Power(x, first);
    if (launch.data[2] != nullptr) h = Mul(h, *UnitData<const Out>(launch, 2, unit));
    Out* out = UnitData<Out>(launch, 0, unit);
    for (u64 i = 0; i < count; ++i) {
      out[(i64)i * to] = h;
      h = Mul(h, x);
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_RECURRENCES_H_
