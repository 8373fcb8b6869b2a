// Sums and products along axes. Field arithmetic is exact: the order does not change the result.
#ifndef CLOAKWORK_KERNELS_FIELD_REDUCE_H_
#define CLOAKWORK_KERNELS_FIELD_REDUCE_H_

#include "kernels/field/blocks.h"

namespace cw {
namespace {

struct FieldSumFold {
  template <class F>
  static CW_INLINE F Start() {
    return ZeroOf<F>();
  }
  template <class F>
  static CW_INLINE F Join(const F& a, const F& b) {
    return Add(a, b);
  }
};
struct FieldProductFold {
  template <class F>
  static CW_INLINE F Start() {
    return OneOf<F>();
  }
  template <class F>
  static CW_INLINE F Join(const F& a, const F& b) {
    return Mul(a, b);
  }
};

// Four chains: a product waits for the one before it.
template <class Fold, class F>
CW_INLINE F FoldStep(const F* a, i64 step, u64 count, const F& start) {
  F part[4] = {start, Fold::template Start<F>(), Fold::template Start<F>(),
               Fold::template Start<F>()};
  u64 i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int j = 0; j < 4; ++j) part[j] = Fold::Join(part[j], a[(i64)(i + j) * step]);
  }
  for (; i < count; ++i) part[0] = Fold::Join(part[0], a[(i64)i * step]);
  return Fold::Join(Fold::Join(part[0], part[1]), Fold::Join(part[2], part[3]));
}

// Operands: out, a. Dims: kept..., reduced...; params: number of reduced dims. Units: kept.
template <class Fold, class F>
CW_INLINE void FieldFold(const cw_launch& launch, u64 begin, u64 end) {
  const u32 kept = launch.rank - (u32)launch.params[0];
  const i64* strides = Strides(launch, 1);
  u64 rows = 1;  // of the last reduced axis
  for (u32 axis = kept; axis + 1 < launch.rank; ++axis) rows *= Dim(launch, axis);
  const u64 length = kept < launch.rank ? Dim(launch, launch.rank - 1) : 1;
  const i64 step = kept < launch.rank ? strides[launch.rank - 1] : 0;
  for (u64 unit = begin; unit < end; ++unit) {
    const F* a = Data<const F>(launch, 1) + OffsetAt(unit, kept, launch.dims, strides);
    F result = Fold::template Start<F>();
    for (u64 row = 0; length != 0 && row < rows; ++row) {
      const u32 axes = launch.rank > kept ? launch.rank - 1 - kept : 0;
      const i64 at = OffsetAt(row, axes, launch.dims + kept, strides + kept);
      result = FoldStep<Fold>(a + at, step, length, result);
    }
    Data<F>(launch, 0)[OffsetAt(unit, kept, launch.dims, Strides(launch, 0))] = result;
  }
}

template <class V, class In, class Out>
void FieldSum(const cw_launch& launch, u64 begin, u64 end, void*) {
  FieldFold<FieldSumFold, Out>(launch, begin, end);
}
template <class V, class In, class Out>
void FieldProduct(const cw_launch& launch, u64 begin, u64 end, void*) {
  FieldFold<FieldProductFold, Out>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_REDUCE_H_
