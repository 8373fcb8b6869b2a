// The loop of modmul, modsum, mod and modneg.
#ifndef CLOAKWORK_KERNELS_MODULAR_ELEMENTWISE_H_
#define CLOAKWORK_KERNELS_MODULAR_ELEMENTWISE_H_

#include "kernels/modular/arithmetic.h"
#include "kernels/rows.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// The moduli of a block: one, or as many as elements.
struct BlockModuli {
  bool uniform;
  Modulus one;
  u64 q[kBlock], last[kBlock], mu[kBlock], shift[kBlock];

  void Put(u64 i, const Modulus& m) {
    q[i] = m.q;
    last[i] = m.last;
    mu[i] = m.mu;
    shift[i] = m.shift;
  }

  // rows.strides[operand] index the list of moduli.
  template <int operands>
  void Fetch(const Rows<operands>& rows, int operand, const Modulus* list, u64 position,
             u64 count) {
    uniform = rows.stepped[operand] && rows.step[operand] == 0;
    const Modulus* first = list + rows.offset[operand];
    if (uniform) {
      one = *first;
    } else if (rows.stepped[operand]) {
      for (u64 i = 0; i < count; ++i) Put(i, first[(position + i) * (u64)rows.step[operand]]);
    } else {
      i64 offsets[kBlock];
      rows.ListOffsets(operand, position, count, offsets);
      for (u64 i = 0; i < count; ++i) Put(i, list[offsets[i]]);
    }
  }

  template <class V>
  CW_INLINE LaneModulus<V> Lanes(u64 i) const {
    return {V::Load(q + i), V::Load(last + i), V::Load(mu + i), V::Load(shift + i)};
  }
  u64 ModulusAt(u64 i) const { return uniform ? one.q : q[i]; }
};

template <class V, class Op, class T>
CW_INLINE void ComputeLanes(T* out, const T* a, const T* b, u64 i, const LaneModulus<V>& m,
                            const BlockModuli& moduli) {
  const V x = V::Load(a + i);
  const V y = V::Load(b + i);
  if (__builtin_expect(!AnyTopBit(Op::Outside(x, y, m)), 1)) {
    Op::Fast(x, y, m).Store(out + i);
    return;
  }
  for (u64 lane = i; lane < i + V::kLanes; ++lane) {
    out[lane] = Op::template Exact<T>(a[lane], b[lane], (T)moduli.ModulusAt(lane));
  }
}

template <class V, class Op, class T>
CW_INLINE void ComputeBlock(T* out, const T* a, const T* b, u64 count, const BlockModuli& moduli) {
  u64 i = 0;
  if (moduli.uniform) {
    const auto m = LaneModulus<V>::Set(moduli.one);
    for (; i + V::kLanes <= count; i += V::kLanes) ComputeLanes<V, Op>(out, a, b, i, m, moduli);
    const auto rest = LaneModulus<U64x1>::Set(moduli.one);
    for (; i < count; ++i) ComputeLanes<U64x1, Op>(out, a, b, i, rest, moduli);
    return;
  }
  for (; i + V::kLanes <= count; i += V::kLanes) {
    ComputeLanes<V, Op>(out, a, b, i, moduli.template Lanes<V>(i), moduli);
  }
  for (; i < count; ++i) {
    ComputeLanes<U64x1, Op>(out, a, b, i, moduli.template Lanes<U64x1>(i), moduli);
  }
}

// Operands: out, a, b of two-input ops, q.
template <class V, class Op, class T>
inline void ForEachResidue(const cw_launch& launch, u64 begin, u64 end) {
  constexpr int kOperands = Op::kInputs + 2;
  i64 modulus_strides[kMaxRank];
  ModulusStrides(launch, kOperands - 1, modulus_strides);
  const i64* strides[kOperands];
  for (int i = 0; i < kOperands - 1; ++i) strides[i] = Strides(launch, (u32)i);
  strides[kOperands - 1] = modulus_strides;
  Rows<kOperands> rows(launch.rank, launch.dims, strides);
  T* out = Data<T>(launch, 0);
  const auto* list = static_cast<const Modulus*>(launch.prepared);
  T a_buffer[kBlock], b_buffer[kBlock], out_buffer[kBlock];
  BlockModuli moduli;
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    moduli.Fetch(rows, kOperands - 1, list, position, count);
    const T* a = FetchBlock(rows, 1, Data<const T>(launch, 1), position, count, a_buffer);
    const T* b = a;
    if constexpr (Op::kInputs == 2) {
      b = FetchBlock(rows, 2, Data<const T>(launch, 2), position, count, b_buffer);
    }
    T* block = OpenBlock(rows, 0, out, position, out_buffer);
    ComputeBlock<V, Op>(block, a, b, count, moduli);
    FlushBlock(rows, 0, out, position, count, block);
  });
}

template <class V, class In, class Out>
void ModMul(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachResidue<V, ModMulOp, Out>(launch, begin, end);
}
template <class V, class In, class Out>
void ModSum(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachResidue<V, ModSumOp, Out>(launch, begin, end);
}
template <class V, class In, class Out>
void Mod(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachResidue<V, ModOp, Out>(launch, begin, end);
}
template <class V, class In, class Out>
void ModNeg(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachResidue<V, ModNegOp, Out>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_ELEMENTWISE_H_
