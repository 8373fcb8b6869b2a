// axis_modsum: t = (t + a[s]) % q along one axis.
#ifndef CLOAKWORK_KERNELS_MODULAR_AXIS_MODSUM_H_
#define CLOAKWORK_KERNELS_MODULAR_AXIS_MODSUM_H_

#include "kernels/modular/elementwise.h"

namespace cw {
namespace {

// sums[i] += a[i] mod q for reduced a and sums. Collects OutsideBit of a.
template <class V, class T>
CW_INLINE V AddTerms(u64* sums, const T* a, u64 first, u64 stop, const BlockModuli& moduli,
                     const LaneModulus<V>& one) {
  V outside = V::Set(0);
  for (u64 i = first; i < stop; i += V::kLanes) {
    const LaneModulus<V> m = moduli.uniform ? one : moduli.template Lanes<V>(i);
    const V term = V::Load(a + i);
    outside = Or(outside, OutsideBit(term, m.last));
    SubIfAtLeast(Add(V::Load(sums + i), term), m.q).Store(sums + i);
  }
  return outside;
}

template <class V, class T>
CW_INLINE bool AddBlock(u64* sums, const T* a, u64 count, const BlockModuli& moduli) {
  const u64 whole = count / V::kLanes * V::kLanes;
  const V vector = AddTerms<V>(sums, a, 0, whole, moduli, LaneModulus<V>::Set(moduli.one));
  const U64x1 rest =
      AddTerms<U64x1>(sums, a, whole, count, moduli, LaneModulus<U64x1>::Set(moduli.one));
  return !AnyTopBit(vector) && !AnyTopBit(rest);
}

// The definition, for terms of any value.
template <class T>
T SumExact(const T* a, i64 step, u64 terms, T q) {
  T sum = 0;
  for (u64 s = 0; s < terms; ++s) sum = Remainder<T>((i128)sum + a[(i64)s * step], q);
  return sum;
}

// Operands: out, a, q. The last axis is summed; units are the others.
template <class V, class In, class Out>
void AxisModSum(const cw_launch& launch, u64 begin, u64 end, void*) {
  const u32 rank = launch.rank - 1;
  const u64 terms = Dim(launch, rank);
  const i64 term_step = Strides(launch, 1)[rank];
  i64 modulus_strides[kMaxRank];
  ModulusStrides(launch, 2, modulus_strides);
  Rows<3> rows(rank, launch.dims, {Strides(launch, 0), Strides(launch, 1), modulus_strides});
  const auto* list = static_cast<const Modulus*>(launch.prepared);
  const Out* data = Data<const Out>(launch, 1);
  Out buffer[kBlock];
  u64 sums[kBlock];
  BlockModuli moduli(rows, 2);
  ForEachBlockOf(moduli.BlockSize(), rows, begin, end, [&](u64 position, u64 count) {
    moduli.Fetch(rows, 2, list, position, count);
    memset(sums, 0, count * sizeof(u64));
    bool reduced = true;
    for (u64 s = 0; s < terms && reduced; ++s) {
      const Out* first = data + (i64)s * term_step;
      const Out* a = FetchBlock(rows, 1, first, position, count, buffer);
      reduced = AddBlock<V>(sums, a, count, moduli);
    }
    if (!reduced) {
      i64 offsets[kBlock];
      rows.ListOffsets(1, position, count, offsets);
      for (u64 i = 0; i < count; ++i) {
        sums[i] =
            (u64)(i64)SumExact<Out>(data + offsets[i], term_step, terms, (Out)moduli.ModulusAt(i));
      }
    }
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    for (u64 i = 0; i < count; ++i) out[i] = (Out)sums[i];
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_AXIS_MODSUM_H_
