// base_convert: y_i = (a_i factor_i + half_i) mod q_i; out_j = sum_i (y_i - half_i) hat_ij mod p_j.
//
// Rows are cut into blocks of coefficients. A block's digits y_i are computed once and stored
// contiguously; then each output limb is a sum of products with one reduction for 15 limbs. Vectors
// run along the coefficients, so that a and out are read and written as streams.
#ifndef CLOAKWORK_KERNELS_RNS_BASE_CONVERT_H_
#define CLOAKWORK_KERNELS_RNS_BASE_CONVERT_H_

#include "kernels/modular/product_sum.h"
#include "kernels/rns/base_plan.h"
#include "kernels/rows.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// (a * factor + half) mod q in [0, q) for a in [0, q): by Shoup in [0, 2q), and below 3q with half.
template <class V>
CW_INLINE V ScaledDigit(V a, const BaseInput& input) {
  const V q = V::Set(input.m.q);
  const V scaled = MulShoupLazy(a, V::Set(input.factor), V::Set(input.factor_shoup), q);
  const V digit = Add(scaled, V::Set(input.half));
  return SubIfAtLeast(SubIfAtLeast(digit, Add(q, q)), q);
}

// The same for q < 2^50; the companion for 2^52 is the other's upper part.
template <class V>
CW_INLINE V ScaledDigitNarrow(V a, const BaseInput& input) {
  const V q = V::Set(input.m.q), zero = V::Set(0);
  const V quotient = MulAdd52High(zero, a, V::Set(input.factor_shoup >> 12));
  const V product = MulAdd52Low(V::Set(input.half), a, V::Set(input.factor));
  const V digit = And(MulAdd52Low(product, quotient, Sub(zero, q)), V::Set(kMask52));
  return SubIfAtLeast(SubIfAtLeast(digit, Add(q, q)), q);
}

template <class V>
CW_INLINE V PlainDigit(V a, const BaseInput& input) {
  return SubIfAtLeast(Add(a, V::Set(input.half)), V::Set(input.m.q));
}

inline u64 ExactDigit(i64 a, const BaseInput& input) {
  const u64 scaled = CanonicalRemainder((i128)a * (i64)input.factor, input.m.q);
  return (scaled + input.half) % input.m.q;
}

// Digits of limb i from first on. Returns the position where it stopped: less than a vector before
// stop.
template <class V, class Digit, class T>
CW_INLINE u64 FillDigits(u64* y, const T* a, u64 first, u64 stop, const BaseInput& input,
                         Digit&& digit) {
  const V last = V::Set(input.m.last);
  u64 i = first;
  for (; i + V::kLanes <= stop; i += V::kLanes) {
    const V word = V::Load(a + i);
    if (__builtin_expect(!AnyTopBit(OutsideBit(word, last)), 1)) {
      digit(word).Store(y + i);
      continue;
    }
    for (u64 lane = i; lane < i + V::kLanes; ++lane) y[lane] = ExactDigit(a[lane], input);
  }
  return i;
}

template <class V, class T>
void Digits(u64* y, const T* a, u64 count, const BaseInput& input, const BaseHeader& header) {
  u64 done = 0;
  if (header.scaled == 0) {
    done = FillDigits<V>(y, a, 0, count, input, [&](V x) { return PlainDigit(x, input); });
  } else if (kHasMulAdd52<V> && header.narrow != 0) {
    if constexpr (kHasMulAdd52<V>) {
      const auto digit = [&](V x) { return ScaledDigitNarrow(x, input); };
      done = FillDigits<V>(y, a, 0, count, input, digit);
    }
  } else {
    done = FillDigits<V>(y, a, 0, count, input, [&](V x) { return ScaledDigit(x, input); });
  }
  FillDigits<U64x1>(y, a, done, count, input, [&](U64x1 x) { return ScaledDigit(x, input); });
}

// Vectors summed together: their additions overlap, and a weight is fetched once for all.
template <class V>
constexpr u64 kSumVectors = kHasMulAdd52<V> ? 4 : 1;

// out[i] for the coefficients at y[i], y[step + i], ...; digits and weights below 2^62.
template <class V, class T>
CW_INLINE void SumWide(T* out, const u64* y, u64 step, const u64* hat, u64 limbs,
                       const BaseOutput& output) {
  V sum = V::Set(output.start);
  for (u64 first = 0; first < limbs; first += kSumTerms) {
    const u64 stop = Min(first + kSumTerms, limbs);
    ProductSum<V> products(sum);
    for (u64 i = first; i < stop; ++i) products.Add(V::Load(y + i * step), V::Set(hat[i]));
    V low;
    const V high = products.Words(low);
    sum = ReduceWide(high, low, output.m);
  }
  sum.Store(out);
}

// high * 2^52 + low mod p for a sum of p and products of digits and weights, where the digits'
// moduli are below 2^52 together.  Result in [0, p).
// With p' = p << left in [2^51, 2^52), c = floor(sum * 2^left / 2^52) is at most the product of
// those moduli; the quotient sum * 2^left / p' is estimated from c and the rest is below 4p, as in
// MulMod.
template <class V>
CW_INLINE V ReduceFew(V high, V low, const NarrowModulus<V>& m) {
  const V c = Add(ShiftLeft(high, m.left), ShiftRight(low, Sub(V::Set(52), m.left)));
  const V estimate = MulAdd52High(c, c, m.mu);
  const V rest = And(MulAdd52Low(low, estimate, m.minus_q), V::Set(kMask52));
  return SubIfAtLeast(SubIfAtLeast(rest, Add(m.q, m.q)), m.q);
}

// The products of `vectors` vectors of digits and of weights first .. stop, both below 2^50.
template <class V, u64 vectors>
struct NarrowProducts {
  V low[vectors], high[vectors];

  explicit CW_INLINE NarrowProducts(V start) {
    for (u64 v = 0; v < vectors; ++v) low[v] = start;
  }
  CW_INLINE void Add(const u64* y, u64 step, const u64* hat, u64 first, u64 stop) {
    for (u64 v = 0; v < vectors; ++v) high[v] = V::Set(0);
    for (u64 i = first; i < stop; ++i) {
      const V weight = V::Set(hat[i]);
      for (u64 v = 0; v < vectors; ++v) {
        const V digit = V::Load(y + i * step + v * V::kLanes);
        low[v] = MulAdd52Low(low[v], digit, weight);
        high[v] = MulAdd52High(high[v], digit, weight);
      }
    }
  }
};

// As SumWide, for digits and weights below 2^50.
template <class V, u64 vectors, class T>
CW_INLINE void SumNarrow(T* out, const u64* y, u64 step, const u64* hat, u64 limbs,
                         const BaseOutput& output) {
  NarrowProducts<V, vectors> sums(V::Set(output.start));
  for (u64 first = 0; first < limbs; first += kSumTerms) {
    sums.Add(y, step, hat, first, Min(first + kSumTerms, limbs));
    for (u64 v = 0; v < vectors; ++v) {
      sums.low[v] = ReduceNarrow(sums.high[v], sums.low[v], output.m);
    }
  }
  for (u64 v = 0; v < vectors; ++v) sums.low[v].Store(out + v * V::kLanes);
}

// The same for few limbs.
template <class V, u64 vectors, class T>
CW_INLINE void SumFew(T* out, const u64* y, u64 step, const u64* hat, u64 limbs, V start,
                      const NarrowModulus<V>& m) {
  NarrowProducts<V, vectors> sums(start);
  sums.Add(y, step, hat, 0, limbs);
  for (u64 v = 0; v < vectors; ++v) {
    ReduceFew(sums.high[v], sums.low[v], m).Store(out + v * V::kLanes);
  }
}

// A block's coefficients of one output limb, in whole vectors with 52-bit multiply-add. Returns the
// number of coefficients.
template <class V, class T>
CW_INLINE u64 SumLimbNarrow(T* out, const u64* y, u64 step, u64 count, const u64* hat, u64 limbs,
                            const BaseOutput& output, bool few) {
  constexpr u64 kMany = kSumVectors<V>;
  const auto m = NarrowModulus<V>::Set(output.one);
  const V start = V::Set(output.start);
  u64 i = 0;
  for (; few && i + kMany * V::kLanes <= count; i += kMany * V::kLanes) {
    SumFew<V, kMany>(out + i, y + i, step, hat, limbs, start, m);
  }
  for (; i + kMany * V::kLanes <= count; i += kMany * V::kLanes) {
    SumNarrow<V, kMany>(out + i, y + i, step, hat, limbs, output);
  }
  for (; i + V::kLanes <= count; i += V::kLanes) {
    SumNarrow<V, 1>(out + i, y + i, step, hat, limbs, output);
  }
  return i;
}

// A block's coefficients of one output limb.
template <class V, class T>
void SumLimb(T* out, const u64* y, u64 step, u64 count, const u64* hat, u64 limbs,
             const BaseOutput& output, const BaseHeader& header) {
  u64 i = 0;
  if constexpr (kHasMulAdd52<V>) {
    if (header.narrow != 0) {
      i = SumLimbNarrow<V>(out, y, step, count, hat, limbs, output, header.few != 0);
    }
  }
  for (; i + V::kLanes <= count; i += V::kLanes) {
    SumWide<V>(out + i, y + i, step, hat, limbs, output);
  }
  for (; i < count; ++i) SumWide<U64x1>(out + i, y + i, step, hat, limbs, output);
}

// Operands: out, a, q, factor, half, hat, p. Axes: rows..., i, j; units are the rows.
template <class V, class In, class Out>
void BaseConvert(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const BasePlan plan(launch);
  void* prepared = const_cast<void*>(launch.prepared);
  const BaseHeader header = *BasePlan::Header(prepared);
  const BaseInput* inputs = BasePlan::Inputs(prepared);
  const BaseOutput* outputs = plan.Outputs(prepared);
  const u32 rank = launch.rank - 2;
  const i64 a_limb = Strides(launch, 1)[rank], out_limb = Strides(launch, 0)[rank + 1];
  Rows<2> rows(rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  const u64 block = plan.Block();
  auto* y = static_cast<u64*>(scratch);
  Out a_buffer[kBlock], out_buffer[kBlock];
  ForEachBlockOf(block, rows, begin, end, [&](u64 position, u64 count) {
    for (u64 i = 0; i < plan.inputs; ++i) {
      const Out* limb = Data<const Out>(launch, 1) + (i64)i * a_limb;
      const Out* a = FetchBlock(rows, 1, limb, position, count, a_buffer);
      Digits<V>(y + i * block, a, count, inputs[i], header);
    }
    for (u64 j = 0; j < plan.outputs; ++j) {
      Out* limb = Data<Out>(launch, 0) + (i64)j * out_limb;
      Out* out = OpenBlock(rows, 0, limb, position, out_buffer);
      SumLimb<V>(out, y, block, count, plan.Hat(prepared, j), plan.inputs, outputs[j], header);
      FlushBlock(rows, 0, limb, position, count, out);
    }
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_RNS_BASE_CONVERT_H_
