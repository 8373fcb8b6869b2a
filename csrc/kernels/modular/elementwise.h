// The loop of modmul, modmuladd, modsum, mod and modneg.
#ifndef CLOAKWORK_KERNELS_MODULAR_ELEMENTWISE_H_
#define CLOAKWORK_KERNELS_MODULAR_ELEMENTWISE_H_

#include "kernels/modular/ops.h"
#include "kernels/rows.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// The moduli of a block: one, or one for each element. These are kept while blocks begin alike.
struct BlockModuli {
  bool uniform;
  Modulus one;
  u64 period;  // positions of a row after which its moduli repeat
  const Modulus* from = nullptr;
  u64 phase = 0, filled = 0;
  u64 q[kBlock], last[kBlock], mu[kBlock], shift[kBlock];

  // rows.strides[operand] index the list of moduli.
  template <int operands>
  BlockModuli(const Rows<operands>& rows, int operand) : period(1) {
    uniform = rows.stepped[operand] && rows.step[operand] == 0;
    u64 inner = 1;
    for (u32 axis = rows.rank; axis-- > rows.outer;) {
      inner *= (u64)rows.dims[axis];
      if (rows.strides[operand][axis] != 0 && inner != 0) period = inner;
    }
  }

  // The size of blocks that begin alike.
  u64 BlockSize() const { return period <= kBlock ? kBlock / period * period : kBlock; }

  void Put(u64 i, const Modulus& m) {
    q[i] = m.q;
    last[i] = m.last;
    mu[i] = m.mu;
    shift[i] = m.shift;
  }

  template <int operands>
  void Fetch(const Rows<operands>& rows, int operand, const Modulus* list, u64 position,
             u64 count) {
    const Modulus* first = list + rows.offset[operand];
    if (uniform) {
      one = *first;
      return;
    }
    const u64 begins = position % period;
    if (first == from && begins == phase && count <= filled) return;
    from = first;
    phase = begins;
    filled = count;
    if (rows.stepped[operand]) {
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

// Vectors that are checked together: a branch for all of them.
constexpr u64 kCheckedVectors = 4;

// Inputs of one element, or of a vector from there on.
template <class Op, class T>
using Inputs = const T* [Op::kInputs];

template <class Op, class T, class Moduli>
void ComputeExactly(T* out, const Inputs<Op, T>& inputs, u64 first, u64 stop,
                    const Moduli& moduli) {
  for (u64 i = first; i < stop; ++i) {
    T x[Op::kInputs];
    for (int input = 0; input < Op::kInputs; ++input) x[input] = inputs[input][i];
    out[i] = Op::template Exact<T>(x, (T)moduli.ModulusAt(i));
  }
}

// Elements i .. i + vectors * kLanes. All are read before any is written: out may be an input.
template <class V, class Op, u64 vectors, class M, class T, class Moduli>
CW_INLINE void ComputeVectors(T* out, const Inputs<Op, T>& inputs, u64 i, const M& m,
                              const Moduli& moduli) {
  V x[vectors][Op::kInputs], seen = V::Set(0);
  for (u64 v = 0; v < vectors; ++v) {
    for (int input = 0; input < Op::kInputs; ++input) {
      x[v][input] = V::Load(inputs[input] + i + v * V::kLanes);
    }
    seen = Op::Seen(seen, x[v], m);
  }
  if (__builtin_expect(Op::Outside(seen, m), 0)) {
    return ComputeExactly<Op>(out, inputs, i, i + vectors * V::kLanes, moduli);
  }
  for (u64 v = 0; v < vectors; ++v) Op::Fast(x[v], m).Store(out + i + v * V::kLanes);
}

// The same modulus for all.
struct OneModulus {
  u64 q;
  u64 ModulusAt(u64) const { return q; }
};

// As many elements as whole vectors hold. Returns how many.
template <class V, class Op, class M, class T>
CW_INLINE u64 ComputeUniform(T* out, const Inputs<Op, T>& inputs, u64 count, const M& m,
                             OneModulus one) {
  constexpr u64 kMany = kCheckedVectors * V::kLanes;
  u64 i = 0;
  for (; i + kMany <= count; i += kMany) {
    ComputeVectors<V, Op, kCheckedVectors>(out, inputs, i, m, one);
  }
  for (; i + V::kLanes <= count; i += V::kLanes) {
    ComputeVectors<V, Op, 1>(out, inputs, i, m, one);
  }
  return i;
}

// Elements under one modulus.
template <class V, class Op, class T>
void ComputeLine(T* out, const Inputs<Op, T>& inputs, u64 count, const Modulus& m) {
  const OneModulus one = {m.q};
  u64 i = 0;
  if constexpr (kHasMulAdd52<V> && Op::kMultiplies) {
    // last: a word that is not a modulus is not narrow either.
    if (m.last < kNarrowLimit - 1) {
      i = ComputeUniform<V, Op>(out, inputs, count, NarrowModulus<V>::Set(m), one);
    }
  }
  if (i == 0) i = ComputeUniform<V, Op>(out, inputs, count, LaneModulus<V>::Set(m), one);
  const auto rest = LaneModulus<U64x1>::Set(m);
  for (; i < count; ++i) ComputeVectors<U64x1, Op, 1>(out, inputs, i, rest, one);
}

template <class V, class Op, class T>
CW_INLINE void ComputeBlock(T* out, const Inputs<Op, T>& inputs, u64 count,
                            const BlockModuli& moduli) {
  if (moduli.uniform) return ComputeLine<V, Op>(out, inputs, count, moduli.one);
  u64 i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes) {
    ComputeVectors<V, Op, 1>(out, inputs, i, moduli.template Lanes<V>(i), moduli);
  }
  for (; i < count; ++i) {
    ComputeVectors<U64x1, Op, 1>(out, inputs, i, moduli.template Lanes<U64x1>(i), moduli);
  }
}

// Any strides.
template <class V, class Op, class T>
__attribute__((noinline)) void ForEachOfRows(const cw_launch& launch, u64 begin, u64 end) {
  constexpr int kOperands = Op::kInputs + 2;
  i64 modulus_strides[kMaxRank];
  ModulusStrides(launch, kOperands - 1, modulus_strides);
  const i64* strides[kOperands];
  for (int i = 0; i < kOperands - 1; ++i) strides[i] = Strides(launch, (u32)i);
  strides[kOperands - 1] = modulus_strides;
  Rows<kOperands> rows(launch.rank, launch.dims, strides);
  T* out = Data<T>(launch, 0);
  const auto* list = static_cast<const Modulus*>(launch.prepared);
  T buffers[Op::kInputs][kBlock], out_buffer[kBlock];
  BlockModuli moduli(rows, kOperands - 1);
  // Elements that are contiguous under one modulus need no blocks.
  bool direct = moduli.uniform;
  for (int i = 0; i < kOperands - 1; ++i) direct &= rows.stepped[i] && rows.step[i] == 1;
  const u64 size = direct ? rows.length : moduli.BlockSize();
  ForEachBlockOf(size, rows, begin, end, [&](u64 position, u64 count) {
    moduli.Fetch(rows, kOperands - 1, list, position, count);
    Inputs<Op, T> inputs;
    for (int input = 0; input < Op::kInputs; ++input) {
      const T* data = Data<const T>(launch, (u32)input + 1);
      inputs[input] = FetchBlock(rows, input + 1, data, position, count, buffers[input]);
    }
    T* block = OpenBlock(rows, 0, out, position, out_buffer);
    ComputeBlock<V, Op>(block, inputs, count, moduli);
    FlushBlock(rows, 0, out, position, count, block);
  });
}

// Whether all elements are contiguous under one modulus, as in a block of a fusion.
inline bool IsLine(const cw_launch& launch) {
  if (launch.rank != 1) return false;
  const u32 last = launch.operands - 1;
  for (u32 i = 0; i < last; ++i) {
    if (launch.strides[i] != 1) return false;
  }
  return launch.strides[last] == 0;
}

// Operands: out, the op's inputs, q.
template <class V, class Op, class T>
inline void ForEachResidue(const cw_launch& launch, u64 begin, u64 end) {
  if (!IsLine(launch)) return ForEachOfRows<V, Op, T>(launch, begin, end);
  Inputs<Op, T> inputs;
  for (int input = 0; input < Op::kInputs; ++input) {
    // One load each: a vector load of pointers would wait for the stores that have just written
    // them.
    const void* data = __atomic_load_n(&launch.data[input + 1], __ATOMIC_RELAXED);
    inputs[input] = static_cast<const T*>(data) + begin;
  }
  ComputeLine<V, Op>(Data<T>(launch, 0) + begin, inputs, end - begin,
                     *static_cast<const Modulus*>(launch.prepared));
}

template <class V, class In, class Out>
void ModMul(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachResidue<V, ModMulOp, Out>(launch, begin, end);
}
template <class V, class In, class Out>
void ModMulAdd(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachResidue<V, ModMulAddOp, Out>(launch, begin, end);
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
