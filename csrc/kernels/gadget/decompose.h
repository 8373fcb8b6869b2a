// g_decomp and g_decomp_full_q: little-endian digits of words, and of all residues of a number.
#ifndef CLOAKWORK_KERNELS_GADGET_DECOMPOSE_H_
#define CLOAKWORK_KERNELS_GADGET_DECOMPOSE_H_

#include "kernels/gadget/crt_plan.h"
#include "kernels/rows.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

struct DigitParams {
  u64 bits;
  u64 digits;
  i64 step;  // out's stride of a digit
  u64 mask;

  explicit DigitParams(const cw_launch& launch)
      : bits((u64)launch.params[0]), digits((u64)launch.params[1]), step(launch.params[2]) {
    mask = bits > 63 ? ~(u64)0 : ((u64)1 << bits) - 1;
  }
};

template <class V, class Out>
CW_INLINE void DigitOfBlock(Out* out, const i64* words, u64 count, u64 shift, u64 mask) {
  for (u64 i = 0; i < count; ++i) out[i] = (Out)((u64)(words[i] >> shift) & mask);
}

// Operands: out (without its digit axis), a.
template <class V, class In, class Out>
void GDecomp(const cw_launch& launch, u64 begin, u64 end, void*) {
  const DigitParams p(launch);
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  In a_buffer[kBlock];
  Out out_buffer[kBlock];
  i64 words[kBlock];
  const bool tight_digits = rows.stepped[0] && rows.step[0] != 1 && p.step == 1;
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    const In* a = FetchBlock(rows, 1, Data<const In>(launch, 1), position, count, a_buffer);
    for (u64 i = 0; i < count; ++i) words[i] = a[i];
    Out* out = Data<Out>(launch, 0);
    if (tight_digits) {
      Out* first = out + rows.offset[0] + (i64)position * rows.step[0];
      for (u64 i = 0; i < count; ++i) {
        for (u64 j = 0; j < p.digits; ++j) {
          const u64 shift = Min(j * p.bits, 63);
          first[(i64)i * rows.step[0] + (i64)j] = (Out)((u64)(words[i] >> shift) & p.mask);
        }
      }
      return;
    }
    for (u64 j = 0; j < p.digits; ++j, out += p.step) {
      Out* digit = OpenBlock(rows, 0, out, position, out_buffer);
      DigitOfBlock<V>(digit, words, count, Min(j * p.bits, 63), p.mask);
      FlushBlock(rows, 0, out, position, count, digit);
    }
  });
}

// Vectors of all lanes, whose dependency chains run side by side.
template <class V>
constexpr u64 kCrtVectors = kCrtLanes / V::kLanes;

// Mixed-radix digits v with x = v[0] + q[0] (v[1] + q[1] (v[2] + ...)), v[i] < q[i] (Garner).
// On entry v[i] holds the residues, in [0, q[i]).
template <class V>
void MixedRadix(u64* v, const CrtPlan& plan, const void* prepared) {
  for (u64 i = 1; i < plan.limbs; ++i) {
    u64* row = v + i * kCrtLanes;
    const CrtModulus& m = plan.Moduli(prepared)[i];
    const V q = V::Set(m.q), cover = V::Set(m.cover);
    V x[kCrtVectors<V>];
    for (u64 n = 0; n < kCrtVectors<V>; ++n) x[n] = V::Load(row + n * V::kLanes);
    for (u64 j = 0; j < i; ++j) {
      const u64* lower = v + j * kCrtLanes;
      const CrtInverse inverse = plan.Inverse(prepared, i, j);
      const V w = V::Set(inverse.value), shoup = V::Set(inverse.shoup);
      for (u64 n = 0; n < kCrtVectors<V>; ++n) {
        // cover is a multiple of q that exceeds any residue, so the difference is positive.
        const V difference = Sub(Add(x[n], cover), V::Load(lower + n * V::kLanes));
        x[n] = SubIfAtLeast(MulShoupLazy(difference, w, shoup, q), q);
      }
    }
    for (u64 n = 0; n < kCrtVectors<V>; ++n) x[n].Store(row + n * V::kLanes);
  }
}

// Words of x, least significant first, [limbs + 1][lane], the last zero, from its mixed-radix
// digits (Horner).
template <class V>
void WordsOf(u64* words, const u64* v, const CrtPlan& plan, const void* prepared) {
  memset(words, 0, (plan.limbs + 1) * kCrtLanes * sizeof(u64));
  const V zero = V::Set(0);
  u64 used = 0;
  for (u64 i = plan.limbs; i-- > 0;) {
    const V q = V::Set(plan.Moduli(prepared)[i].q);
    if (used < plan.limbs) ++used;
    V carry[kCrtVectors<V>];
    for (u64 n = 0; n < kCrtVectors<V>; ++n) {
      carry[n] = V::Load(v + i * kCrtLanes + n * V::kLanes);
    }
    for (u64 word = 0; word < used; ++word) {
      for (u64 n = 0; n < kCrtVectors<V>; ++n) {
        u64* x = words + word * kCrtLanes + n * V::kLanes;
        V low;
        V high = MulWide(V::Load(x), q, low);
        AddWide(high, low, zero, carry[n]);
        low.Store(x);
        carry[n] = high;
      }
    }
  }
}

// Residues of up to kCrtLanes units, in [0, q).
template <class V, class In>
void FetchResidues(u64* v, const In* a, i64 step, u64 count, u64 q) {
  const V last = V::Set(q - 1);
  u64 lane = 0;
  if (step == 1) {
    for (; lane + V::kLanes <= count; lane += V::kLanes) {
      const V word = V::Load(a + lane);
      if (AnyTopBit(OutsideBit(word, last))) break;
      word.Store(v + lane);
    }
  }
  for (; lane < kCrtLanes; ++lane) {
    const i64 word = lane < count ? a[(i64)lane * step] : 0;
    v[lane] = (u64)word < q ? (u64)word : CanonicalRemainder(word, q);
  }
}

// Digits of up to kCrtLanes units: bits of x from bit `at` on, at most 64 of them. Row `limbs` of
// words is zero and stands for all bits beyond.
template <class Out>
CW_INLINE void DigitOfLanes(Out* out, i64 step, const u64* words, u64 limbs, u64 at, u64 mask,
                            u64 count) {
  const u64 shift = at % 64;
  const u64* low = words + Min(at / 64, limbs) * kCrtLanes;
  const u64* high = words + Min(at / 64 + 1, limbs) * kCrtLanes;
  Out digits[kCrtLanes];
  for (u64 lane = 0; lane < kCrtLanes; ++lane) {
    digits[lane] = (Out)((low[lane] >> shift | high[lane] << 1 << (63 - shift)) & mask);
  }
  if (step == 1 && count == kCrtLanes) {
    memcpy(out, digits, sizeof digits);
  } else {
    for (u64 lane = 0; lane < count; ++lane) out[(i64)lane * step] = digits[lane];
  }
}

// Operands: out (without its digit axis), a, q. Axes: x, y, k; units are x, y.
template <class V, class In, class Out>
void GDecompFullQ(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const DigitParams p(launch);
  const CrtPlan plan(launch);
  const i64 *out_at = Strides(launch, 0), *a_at = Strides(launch, 1);
  auto* v = static_cast<u64*>(scratch);
  u64* words = v + plan.limbs * kCrtLanes;
  const u64 columns = Dim(launch, 1);
  for (u64 unit = begin; unit < end;) {
    const u64 x = unit / columns, y = unit % columns;
    const u64 count = Min(Min(kCrtLanes, columns - y), end - unit);
    const In* a = Data<const In>(launch, 1) + (i64)x * a_at[0] + (i64)y * a_at[1];
    for (u64 i = 0; i < plan.limbs; ++i) {
      FetchResidues<V>(v + i * kCrtLanes, a + (i64)i * a_at[2], a_at[1], count,
                       plan.Moduli(launch.prepared)[i].q);
    }
    MixedRadix<V>(v, plan, launch.prepared);
    WordsOf<V>(words, v, plan, launch.prepared);
    Out* out = Data<Out>(launch, 0) + (i64)x * out_at[0] + (i64)y * out_at[1];
    for (u64 j = 0; j < p.digits; ++j, out += p.step) {
      DigitOfLanes(out, out_at[1], words, plan.limbs, j * p.bits, p.mask, count);
    }
    unit += count;
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_GADGET_DECOMPOSE_H_
