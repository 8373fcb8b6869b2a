// cumulative_sum and cumulative_prod along the last dim, one element after another.
#ifndef CLOAKWORK_KERNELS_REDUCTION_CUMULATIVE_H_
#define CLOAKWORK_KERNELS_REDUCTION_CUMULATIVE_H_

#include "kernels/reduction/ops.h"
#include "kernels/reduction/plan.h"

namespace cw {
namespace {

template <class In, class Out, class Op>
struct Scanner {
  const cw_launch& launch;
  const ReductionPlan plan;
  Rows<2> kept;
  const i64 out_step, a_step;

  explicit Scanner(const cw_launch& launch_)
      : launch(launch_),
        plan(launch_),
        kept(plan.kept, launch_.dims, {Strides(launch_, 0), Strides(launch_, 1)}),
        out_step(Strides(launch_, 0)[plan.kept]),
        a_step(Strides(launch_, 1)[plan.kept]) {}

  void Along(u64 begin, u64 end) {
    i64 to[kBlock], from[kBlock];
    ForEachBlock(kept, begin, end, [&](u64 position, u64 count) {
      kept.ListOffsets(0, position, count, to);
      kept.ListOffsets(1, position, count, from);
      for (u64 i = 0; i < count && plan.count != 0; ++i) {
        const In* a = Data<const In>(launch, 1) + from[i];
        Out* out = Data<Out>(launch, 0) + to[i];
        Out total = Lift(*a);
        *out = total;
        for (u64 at = 1; at < plan.count; ++at) {
          total = Op::Join(total, Lift(a[(i64)at * a_step]));
          out[(i64)at * out_step] = total;
        }
      }
    });
  }

  // Neighbouring results together.
  void Across(u64 begin, u64 end) {
    In buffer[kBlock];
    Out total[kBlock];
    ForEachBlock(kept, begin, end, [&](u64 position, u64 count) {
      for (u64 at = 0; at < plan.count; ++at) {
        const In* data = Data<const In>(launch, 1) + (i64)at * a_step;
        const In* a = FetchBlock(kept, 1, data, position, count, buffer);
        for (u64 i = 0; i < count; ++i) {
          total[i] = at == 0 ? Lift(a[i]) : Op::Join(total[i], Lift(a[i]));
        }
        Out* place = Data<Out>(launch, 0) + (i64)at * out_step;
        Out* out = OpenBlock(kept, 0, place, position, total);
        if (out != total) memcpy(out, total, count * sizeof(Out));
        FlushBlock(kept, 0, place, position, count, total);
      }
    });
  }

  static CW_INLINE Out Lift(In x) {
    if constexpr (kIsInteger<In>) {
      return Widen(x);
    } else {
      return x;
    }
  }
};

// Integers accumulate in 64-bit words that wrap.
template <class T>
using Running = typename Unsigned<T>::Type;

template <class In, class Out, class Op>
void Scan(const cw_launch& launch, u64 begin, u64 end) {
  Scanner<In, Out, Op> scanner(launch);
  if (scanner.plan.columns) {
    scanner.Across(begin, end);
  } else {
    scanner.Along(begin, end);
  }
}

template <class V, class In, class Out>
void CumulativeSum(const cw_launch& launch, u64 begin, u64 end, void*) {
  Scan<SumWord<In>, Running<Out>, AddOp>(launch, begin, end);
}

template <class V, class In, class Out>
void CumulativeProduct(const cw_launch& launch, u64 begin, u64 end, void*) {
  Scan<SumWord<In>, Running<Out>, MultiplyOp>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_CUMULATIVE_H_
