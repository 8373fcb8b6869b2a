// field_ntt_columns and field_ntt_rows: one block transforms one column or row in shared memory,
// with the processor's tables. A butterfly costs one product of the field, so that memory waits for
// arithmetic: an element is a whole sector of memory, wherever its neighbours lie.
#include "cuda/kernels/kernel.h"
#include "cuda/plans/field_ntt.h"
#include "kernels/poly/groups.h"

namespace cw {
namespace {

// One of the columns or rows that a unit transforms together.
struct OneOfUnit {
  u64 unit, lane;

  template <class F>
  static CW_INLINE OneOfUnit Of() {
    return {blockIdx.x / kColumns<F>, blockIdx.x % kColumns<F>};
  }
};

CW_INLINE u32 LogOf(u64 length) { return 63u - (u32)__builtin_clzll(length); }

CW_INLINE u32 ReversedIndex(u32 index, u32 bits) {
  return bits == 0 ? 0 : __brev(index) >> (32 - bits);
}

// Transforms x into bit-reversed order: the tree of csrc/kernels/poly/ntt.h, a level at a time.
template <class F, class Root>
CW_INLINE void TransformShared(F* x, u64 length, const Root* roots) {
  for (u32 level = LogOf(length); level-- > 0;) {
    const u32 half = 1u << level;
    for (u32 item = threadIdx.x; item < length / 2; item += blockDim.x) {
      const u32 block = item >> level, low = (block << level) + item;
      const F u = x[low];
      F t = x[low + half];
      if (block != 0) t = Mul(t, roots[block]);
      x[low] = Add(u, t);
      x[low + half] = Sub(u, t);
    }
    __syncthreads();
  }
}

template <class F>
CW_CALLED F PowerOfFactor(F base, u64 exponent) {
  F result = OneOf<F>();
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result = Mul(result, base);
    base = Mul(base, base);
  }
  return result;
}

// powers[i] = next^i for i < 32, powers[32 + i] = first next^(32 i): products of two of them are
// the factors of a column.
template <class F>
CW_INLINE void FillPowers(F* powers, const F& first, const F& next, u64 length) {
  constexpr u64 kLow = kFactorPowers / 2;
  for (u64 i = threadIdx.x; i < kFactorPowers; i += blockDim.x) {
    const u64 exponent = i < kLow ? i : (i - kLow) * kLow;
    if (exponent >= length) continue;
    const F power = PowerOfFactor(next, exponent);
    powers[i] = i < kLow ? power : Mul(power, first);
  }
}
// first next^k.
template <class F>
CW_INLINE F FactorAt(const F* powers, const F& next, u64 k) {
  constexpr u64 kLow = kFactorPowers / 2, kAll = kLow * kLow;
  const F within = Mul(powers[kLow + k % kAll / kLow], powers[k % kLow]);
  return k < kAll ? within : Mul(within, PowerOfFactor(next, k / kAll * kAll));
}

template <class F>
CW_INLINE void TransformColumn(const cw_launch& launch, F* x) {
  const NttShape shape(launch.params);
  const NttTables<ArrayLanes<F>> tables(shape, launch.prepared, true);
  const OneOfUnit own = OneOfUnit::Of<F>();
  const u64 column = GroupOfUnit(launch, own.unit) * kColumns<F> + own.lane;
  const F* a = UnitData<const F>(launch, 1, own.unit) + (i64)own.lane * shape.stride;
  F* out = UnitData<F>(launch, 0, own.unit) + own.lane * shape.n1;
  F* powers = x + shape.n1;
  const F next = tables.next[column];
  for (u64 j = threadIdx.x; j < shape.n1; j += blockDim.x) {
    F element = a[(i64)(j * shape.n2) * shape.stride];
    if (tables.scales != nullptr) element = Mul(element, tables.scales[j]);
    x[j] = element;
  }
  FillPowers(powers, tables.first[column], next, shape.n1);
  __syncthreads();
  TransformShared(x, shape.n1, tables.roots);
  const u32 bits = LogOf(shape.n1);
  for (u64 k = threadIdx.x; k < shape.n1; k += blockDim.x) {
    out[k] = Mul(x[ReversedIndex(k, bits)], FactorAt(powers, next, k));
  }
}

template <class F>
CW_INLINE void TransformRow(const cw_launch& launch, F* x) {
  const NttShape shape(launch.params);
  const NttTables<ArrayLanes<F>> tables(shape, launch.prepared, false);
  const OneOfUnit own = OneOfUnit::Of<F>();
  const F* a = UnitData<const F>(launch, 1, own.unit) + own.lane;
  F* out = UnitData<F>(launch, 0, own.unit) + (i64)own.lane * shape.stride;
  for (u64 j = threadIdx.x; j < shape.n2; j += blockDim.x) x[j] = a[j * shape.n1];
  __syncthreads();
  TransformShared(x, shape.n2, tables.roots);
  const u32 bits = LogOf(shape.n2);
  for (u64 k = threadIdx.x; k < shape.n2; k += blockDim.x) {
    F element = x[ReversedIndex(k, bits)];
    if (tables.scales != nullptr) element = Mul(element, tables.scales[k]);
    out[(i64)(k * shape.n1) * shape.stride] = element;
  }
}

}  // namespace
}  // namespace cw

#define CW_FIELD_NTT_BLOCK(kernel, field, F, Transform)  \
  CW_CUDA_FUNCTION(cw_##kernel##_##field##_block_cuda) { \
    CW_CUDA_SHARED(shared);                              \
    using namespace cw;                                  \
    Transform(own, reinterpret_cast<F*>(shared));        \
  }
#define CW_FIELD_NTT(field, F)                                        \
  CW_FIELD_NTT_BLOCK(field_ntt_columns, field, F, TransformColumn<F>) \
  CW_FIELD_NTT_BLOCK(field_ntt_rows, field, F, TransformRow<F>)
CW_EACH_LARGE_TRANSFORM(CW_FIELD_NTT)
CW_EACH_SMALL_TRANSFORM(CW_FIELD_NTT)
