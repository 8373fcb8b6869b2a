// arange: start, start + step, ...
#ifndef CLOAKWORK_KERNELS_CREATION_ARANGE_H_
#define CLOAKWORK_KERNELS_CREATION_ARANGE_H_

#include "kernels/rows.h"

namespace cw {
namespace {

template <class T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;

// start + i step: floats in binary64, integers in words that wrap.
template <class In, class Out>
CW_INLINE void FillRange(Out* out, In start, In step, u64 first, u64 count) {
  if constexpr (kIsFloat<Out>) {
    const double base = (double)first;
    for (int i = 0; i < (int)count; ++i) {
      out[i] = (Out)((double)start + (base + (double)i) * (double)step);
    }
  } else {
    for (u64 i = 0; i < count; ++i) out[i] = (Out)((u64)start + (first + i) * (u64)step);
  }
}

// Operands: out, start, step; dims: n.
template <class V, class In, class Out>
void Arange(const cw_launch& launch, u64 begin, u64 end, void*) {
  const In start = *Data<const In>(launch, 1), step = *Data<const In>(launch, 2);
  Rows<1> rows(launch.rank, launch.dims, {Strides(launch, 0)});
  Out buffer[kBlock];
  u64 first = begin;
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    FillRange(out, start, step, first, count);
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
    first += count;
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CREATION_ARANGE_H_
