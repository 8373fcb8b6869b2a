// uniform_mod, ternary, gaussian: samples from random words of the caller. No branch and no address
// depends on a random word.
#ifndef CLOAKWORK_KERNELS_RLWE_SAMPLE_H_
#define CLOAKWORK_KERNELS_RLWE_SAMPLE_H_

#include "kernels/modular/sum_modulus.h"
#include "kernels/modular/modmul_axis_sum.h"
#include "kernels/rows.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// Entries of 127 bits; scripts/gaussian_table.py computes them.
struct GaussianEntry {
  u64 high, low;
};
constexpr GaussianEntry kGaussianTable[] = {
#define CW_GAUSSIAN(high, low) {high, low},
#include "kernels/rlwe/gaussian_table.inc"
#undef CW_GAUSSIAN
};
constexpr u64 kGaussianEntries = sizeof kGaussianTable / sizeof kGaussianTable[0];

// Random words of a block, split: each pair is (low, high), at some distance.
template <int operands>
CW_INLINE void FetchRandom(const Rows<operands>& rows, const u64* data, i64 distance, u64 position,
                           u64 count, u64* low, u64* high) {
  i64 offsets[kBlock];
  rows.ListOffsets(1, position, count, offsets);
  for (u64 i = 0; i < count; ++i) {
    low[i] = data[offsets[i]];
    if (high != nullptr) high[i] = data[offsets[i] + distance];
  }
}

// Operands: out, random, q.
template <class V, class In, class Out>
void UniformMod(const cw_launch& launch, u64 begin, u64 end, void*) {
  i64 modulus_strides[kMaxRank];
  ModulusStrides(launch, 2, modulus_strides);
  Rows<3> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1), modulus_strides});
  const auto* moduli = static_cast<const SumModulus*>(launch.prepared);
  u64 low[kBlock], high[kBlock];
  i64 which[kBlock], buffer[kBlock];
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    FetchRandom(rows, Data<const u64>(launch, 1), launch.params[0], position, count, low, high);
    rows.ListOffsets(2, position, count, which);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    for (u64 i = 0; i < count; ++i) {
      out[i] = (Out)ReduceWide(U64x1{high[i]}, U64x1{low[i]}, moduli[which[i]]).v;
    }
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

// Operands: out, random. floor(3 w / 2^64) - 1.
template <class V, class In, class Out>
void Ternary(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  u64 buffer[kBlock];
  i64 out_buffer[kBlock];
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    const u64* random = Data<const u64>(launch, 1);
    const u64* words = FetchBlock(rows, 1, random, position, count, buffer);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, out_buffer);
    for (u64 i = 0; i < count; ++i) out[i] = (Out)((u128)words[i] * 3 >> 64) - 1;
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

// One sample: the magnitude is the number of table entries that do not exceed the pair's upper 127
// bits, the lowest bit is the sign. Every entry is compared.
template <class V>
CW_INLINE V GaussianOf(V low, V high) {
  const V one = V::Set(1);
  const V uniform_low = Or(ShiftRight(low, one), ShiftLeft(high, V::Set(63)));
  const V uniform_high = ShiftRight(high, one);
  V magnitude = V::Set(kGaussianEntries);
  for (const GaussianEntry& entry : kGaussianTable) {
    const V bound_high = V::Set(entry.high), bound_low = V::Set(entry.low);
    magnitude = Sub(magnitude, LessWide(uniform_high, uniform_low, bound_high, bound_low));
  }
  const V sign = Sub(V::Set(0), And(low, one));  // 0 or all ones
  return Sub(Xor(magnitude, sign), sign);
}

// Operands: out, random.
template <class V, class In, class Out>
void Gaussian(const cw_launch& launch, u64 begin, u64 end, void*) {
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  u64 low[kBlock], high[kBlock];
  i64 buffer[kBlock];
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    FetchRandom(rows, Data<const u64>(launch, 1), launch.params[0], position, count, low, high);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    u64 i = 0;
    for (; i + V::kLanes <= count; i += V::kLanes) {
      GaussianOf(V::Load(low + i), V::Load(high + i)).Store(out + i);
    }
    for (; i < count; ++i) GaussianOf(U64x1{low[i]}, U64x1{high[i]}).Store(out + i);
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_RLWE_SAMPLE_H_
