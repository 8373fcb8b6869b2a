// automorphism: out[row, n] = a[row, index[n]].
#ifndef CLOAKWORK_KERNELS_RLWE_AUTOMORPHISM_H_
#define CLOAKWORK_KERNELS_RLWE_AUTOMORPHISM_H_

#include "kernels/rlwe/index_plan.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// Positions begin .. end of a contiguous row under a map of groups: a group is one vector, or eight
// words of one cache line.
template <class V, class T>
CW_INLINE void MoveGroups(T* out, const T* a, const IndexMap& map, u64 size, u64 begin, u64 end) {
  const u64* orders = map.Orders();
  const u32* groups = map.Groups(size);
  const auto move = [&](u64 n) {
    const u64 order = orders[n / kGroup] >> n % kGroup * 8;
    out[n] = a[(u64)groups[n / kGroup] * kGroup + (order & 7)];
  };
  u64 n = begin;
  for (; n < end && n % kGroup != 0; ++n) move(n);
  for (; n + kGroup <= end; n += kGroup) {
    const T* source = a + (u64)groups[n / kGroup] * kGroup;
    if constexpr (V::kLanes == kGroup) {
      Pick(V::Load(source), orders[n / kGroup]).Store(out + n);
    } else {
      u64 order = orders[n / kGroup];
      for (u64 i = 0; i < kGroup; ++i, order >>= 8) out[n + i] = source[order & 7];
    }
  }
  for (; n < end; ++n) move(n);
}

// Any strides, any map.
template <class T>
CW_INLINE void MovePlaces(T* out, i64 out_step, const T* a, i64 a_step, const IndexMap& map,
                          u64 size, u64 begin, u64 end) {
  if (map.grouped == 0) {
    const u32* places = map.Places();
    for (u64 n = begin; n < end; ++n) out[(i64)n * out_step] = a[(i64)places[n] * a_step];
    return;
  }
  const u64* orders = map.Orders();
  const u32* groups = map.Groups(size);
  for (u64 n = begin; n < end; ++n) {
    const u64 inside = orders[n / kGroup] >> n % kGroup * 8 & 7;
    out[(i64)n * out_step] = a[(i64)((u64)groups[n / kGroup] * kGroup + inside) * a_step];
  }
}

// Operands: out, a, index. Axes: rows..., n; units are all.
template <class V, class In, class Out>
void Automorphism(const cw_launch& launch, u64 begin, u64 end, void*) {
  if (begin >= end) return;
  const u32 last = launch.rank - 1;
  const u64 size = Dim(launch, last);
  const i64 *out_at = Strides(launch, 0), *a_at = Strides(launch, 1);
  const IndexMap& map = **static_cast<const IndexMap* const*>(launch.prepared);  // of any row
  while (begin < end) {
    const u64 row = begin / size, n = begin % size, stop = Min(size, n + (end - begin));
    Out* out = Data<Out>(launch, 0);
    const Out* a = Data<const Out>(launch, 1);
    u64 rest = row;
    for (u32 axis = last; axis-- > 0;) {
      const i64 index = (i64)(rest % Dim(launch, axis));
      out += index * out_at[axis];
      a += index * a_at[axis];
      rest /= Dim(launch, axis);
    }
    if (map.grouped != 0 && out_at[last] == 1 && a_at[last] == 1) {
      MoveGroups<V>(out, a, map, size, n, stop);
    } else {
      MovePlaces(out, out_at[last], a, a_at[last], map, size, n, stop);
    }
    begin += stop - n;
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_RLWE_AUTOMORPHISM_H_
