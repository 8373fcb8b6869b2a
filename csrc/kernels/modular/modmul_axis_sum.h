// modmul_axis_sum: the inner products of encrypted matrix multiplication and key switching.
//
// Units are walked by output position u = p(n), so that only a is gathered through the inverse
// permutation. Products are summed in 128 bits, 15 terms for each reduction. For one chunk of
// positions and one group of terms all rows r are computed in turn: b is read from memory once in
// each call, and stays in the first-level cache. Limbs below 2^50 are summed in place, by 52-bit
// multiply-add.
#ifndef CLOAKWORK_KERNELS_MODULAR_MODMUL_AXIS_SUM_H_
#define CLOAKWORK_KERNELS_MODULAR_MODMUL_AXIS_SUM_H_

#include "kernels/modular/axis_sum_plan.h"
#include "kernels/modular/narrow_sum.h"
#include "kernels/modular/product_sum.h"
#include "kernels/rows.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// out[i] = (out[i] + sum of terms) mod q for i from first on. Returns where it ended: less than a
// vector before stop, or at the first vector that holds a word outside [0, 2^62).
template <class V, bool a_broadcast, bool b_broadcast, class T>
CW_INLINE u64 SumVectors(T* out, const Terms<T>& a, const Terms<T>& b, u64 terms, u64 first,
                         u64 stop, const SumModulus& m) {
  u64 i = first;
  for (; i + V::kLanes <= stop; i += V::kLanes) {
    V seen = V::Load(out + i);
    ProductSum<V> sum(seen);
    for (u64 s = 0; s < terms; ++s) {
      const T* a_term = a.data + (i64)s * a.term_step;
      const T* b_term = b.data + (i64)s * b.term_step;
      const V x = a_broadcast ? V::Set((u64)(i64)*a_term) : V::Load(a_term + i);
      const V y = b_broadcast ? V::Set((u64)(i64)*b_term) : V::Load(b_term + i);
      sum.Add(x, y);
      seen = Or(seen, Or(x, y));
    }
    if (__builtin_expect(AnyTopBit(Or(seen, Add(seen, seen))), 0)) break;
    V low;
    const V high = sum.Words(low);
    ReduceWide(high, low, m).Store(out + i);
  }
  return i;
}

// The definition, for words of any value.
template <class T>
void SumExactly(T* out, const Terms<T>& a, const Terms<T>& b, u64 terms, u64 i, u64 q) {
  i128 sum = (i128)CanonicalRemainder(out[i], q);
  for (u64 s = 0; s < terms; ++s) {
    const i64 x = a.data[(i64)s * a.term_step + (a.broadcast ? 0 : (i64)i)];
    const i64 y = b.data[(i64)s * b.term_step + (b.broadcast ? 0 : (i64)i)];
    sum = (i128)CanonicalRemainder((i128)x * y % (i128)q + sum, q);
  }
  out[i] = (T)sum;
}

template <class V, bool a_broadcast, bool b_broadcast, class T>
void SumChunk(T* out, const Terms<T>& a, const Terms<T>& b, u64 terms, u64 count,
              const SumModulus& m) {
  for (u64 i = 0; i < count;) {
    i = SumVectors<V, a_broadcast, b_broadcast>(out, a, b, terms, i, count, m);
    if (i + V::kLanes > count) {
      i = SumVectors<U64x1, a_broadcast, b_broadcast>(out, a, b, terms, i, count, m);
    }
    const u64 odd = Min(count, i + V::kLanes);  // stopped at words that need exact arithmetic
    for (; i < odd; ++i) SumExactly(out, a, b, terms, i, m.q);
  }
}

template <class V, class T>
void AddProducts(T* out, const Terms<T>& a, const Terms<T>& b, u64 terms, u64 count,
                 const SumModulus& m) {
  if (a.broadcast && b.broadcast) return SumChunk<V, true, true>(out, a, b, terms, count, m);
  if (a.broadcast) return SumChunk<V, true, false>(out, a, b, terms, count, m);
  if (b.broadcast) return SumChunk<V, false, true>(out, a, b, terms, count, m);
  SumChunk<V, false, false>(out, a, b, terms, count, m);
}

// Makes the terms of one operand for positions u .. u + count contiguous. Rows that are contiguous
// already are copied too: their distance is often a power of two, so that as many rows as there are
// terms would meet in one set of the caches, and no prefetcher follows them all.
template <class T>
Terms<T> FetchTerms(const T* data, i64 step, i64 term_step, const u32* order, u64 u, u64 count,
                    u64 terms, T* tile, u64 tile_step) {
  if (step == 0) return {data, term_step, true};
  for (u64 s = 0; s < terms; ++s) {
    const T* row = data + (i64)s * term_step;
    T* tile_row = tile + s * tile_step;
    if (step == 1 && order == nullptr) {
      memcpy(tile_row, row + u, count * sizeof(T));
      continue;
    }
    for (u64 i = 0; i < count; ++i) {
      tile_row[i] = row[(i64)(order == nullptr ? u + i : order[u + i]) * step];
    }
  }
  return {tile, (i64)tile_step, false};
}

// Rows first_row .. last_row at positions u .. u + count of limb k.
template <class V, class T>
struct AxisSum {
  const cw_launch& launch;
  const AxisSumPlan plan;
  const SumModulus* moduli;
  const u32* order;  // inverse permutation, or null
  void* scratch;

  AxisSum(const cw_launch& launch_, void* scratch_)
      : launch(launch_), plan(launch_), scratch(scratch_) {
    void* prepared = const_cast<void*>(launch.prepared);
    moduli = AxisSumPlan::Moduli(prepared);
    order = AxisSumPlan::Header(prepared)->permuted != 0 ? plan.Inverse(prepared) : nullptr;
  }

  CW_INLINE void Accumulate(T* out, const Terms<T>& a, const Terms<T>& b, u64 terms, u64 count,
                            const SumModulus& m) const {
    const i64 step = Strides(launch, 0)[2];
    if (step == 1) return AddProducts<V>(out, a, b, terms, count, m);
    T buffer[kSumChunk];
    for (u64 i = 0; i < count; ++i) buffer[i] = out[(i64)i * step];
    AddProducts<V>(buffer, a, b, terms, count, m);
    for (u64 i = 0; i < count; ++i) out[(i64)i * step] = buffer[i];
  }

  CW_INLINE const SumModulus& ModulusOf(u64 k) const { return moduli[plan.moduli == 1 ? 0 : k]; }

  // Up to kSumChunk positions, of any words.
  void Chunk(u64 first_row, u64 last_row, u64 k, u64 u, u64 count) const {
    const i64 *out_at = Strides(launch, 0), *a_at = Strides(launch, 1), *b_at = Strides(launch, 2);
    const SumModulus& m = ModulusOf(k);
    const u64 all_terms = Dim(launch, 3);
    T* tile = static_cast<T*>(scratch);
    T* b_tile = tile + kSumTerms * kSumTileStep;
    T* out = Data<T>(launch, 0) + (i64)k * out_at[1] + (i64)u * out_at[2];
    const T* a = Data<const T>(launch, 1) + (i64)k * a_at[1];
    const T* b = Data<const T>(launch, 2) + (i64)k * b_at[1];
    u64 s = 0;
    do {  // also without terms: out is reduced
      const u64 terms = Min(kSumTerms, all_terms - s);
      const Terms<T> right =
          FetchTerms<T>(b + (i64)s * b_at[3], b_at[2], b_at[3], nullptr, u, count, terms, b_tile,
                        kSumTileStep);
      for (u64 r = first_row; r < last_row; ++r) {
        const Terms<T> left = FetchTerms<T>(a + (i64)r * a_at[0] + (i64)s * a_at[3], a_at[2],
                                            a_at[3], order, u, count, terms, tile, kSumTileStep);
        Accumulate(out + (i64)r * out_at[0], left, right, terms, count, m);
      }
      s += terms;
    } while (s < all_terms);
  }

  // Whether narrow sums serve limb k: out and b are tight, the modulus is below 2^50.
  bool IsNarrow(u64 k) const {
    return kHasMulAdd52<V> && Strides(launch, 0)[2] == 1 && Strides(launch, 2)[2] == 1 &&
           ModulusOf(k).q < kNarrowLimit && Dim(launch, 3) != 0;
  }

  // Up to kNarrowChunk positions of one row, until the first vector with a word that is not narrow.
  // Returns the number of positions.
  u64 NarrowChunk(T* out, const T* a, const T* b, u64 u, u64 count, const SumModulus& m) const {
    const i64 *a_at = Strides(launch, 1), *b_at = Strides(launch, 2);
    auto& sums = *static_cast<NarrowSums*>(scratch);
    T* tile = reinterpret_cast<T*>(&sums + 1);
    const u64 all_terms = Dim(launch, 3), vectors = count / V::kLanes * V::kLanes;
    const bool whole = all_terms <= kNarrowTerms;
    if (!whole && StartNarrow<V>(out, sums, vectors) != vectors) return 0;
    for (u64 s = 0; s < all_terms; s += kNarrowTerms) {
      const u64 terms = Min(kNarrowTerms, all_terms - s);
      const Terms<T> right = {b + (i64)s * b_at[3] + u, b_at[3], false};
      const T* rows = a + (i64)s * a_at[3];
      const Terms<T> left =
          a_at[2] == 1 && order == nullptr
              ? Terms<T>{rows + u, a_at[3], false}
              : FetchTerms<T>(rows, a_at[2], a_at[3], order, u, vectors, terms, tile, kNarrowStep);
      const auto add = left.broadcast ? (whole ? AddNarrowTerms<V, 1, true, true, T>
                                               : AddNarrowTerms<V, 1, true, false, T>)
                                      : (whole ? AddNarrowTerms<V, 1, false, true, T>
                                               : AddNarrowTerms<V, 1, false, false, T>);
      const u64 done = add({out}, sums, {left}, right, terms, vectors, m);
      if (whole) return done;
      if (done != vectors) return 0;
      const bool full = s / kNarrowTerms % kNarrowPasses == kNarrowPasses - 1;
      if (full) ReduceNarrowSums<V>(sums, vectors, m);
    }
    FinishNarrow<V>(out, sums, vectors, m);
    return vectors;
  }

  // Whether rows may be summed in pairs: their terms are contiguous, and few.
  bool TakesPairs() const {
    return Strides(launch, 1)[2] == 1 && order == nullptr && Dim(launch, 3) <= kNarrowTerms;
  }

  // As NarrowChunk, for two rows at once: b is read once, and more memory reads overlap.
  u64 PairChunk(T* out, const T* a, const T* b, u64 u, u64 count, const SumModulus& m) const {
    const i64 *a_at = Strides(launch, 1), *b_at = Strides(launch, 2);
    auto& sums = *static_cast<NarrowSums*>(scratch);
    const Terms<T> left[] = {{a + u, a_at[3], false}, {a + a_at[0] + u, a_at[3], false}};
    const Terms<T> right = {b + u, b_at[3], false};
    T* const rows[] = {out, out + Strides(launch, 0)[0]};
    return AddNarrowTerms<V, 2, false, true, T>(rows, sums, left, right, Dim(launch, 3), count, m);
  }

  // Positions u .. u + count of limb k, for each of the rows.
  void Stretch(u64 first_row, u64 last_row, u64 k, u64 u, u64 count) const {
    u64 row = first_row;
    if constexpr (kHasMulAdd52<V>) {
      const i64 *out_at = Strides(launch, 0), *a_at = Strides(launch, 1);
      T* out = Data<T>(launch, 0) + (i64)k * out_at[1] + (i64)u;
      const T* a = Data<const T>(launch, 1) + (i64)k * a_at[1];
      const T* b = Data<const T>(launch, 2) + (i64)k * Strides(launch, 2)[1];
      while (IsNarrow(k) && row < last_row) {
        T* const sums = out + (i64)row * out_at[0];
        const T* const factors = a + (i64)row * a_at[0];
        const bool pair = last_row - row > 1 && TakesPairs();
        const u64 done = pair ? PairChunk(sums, factors, b, u, count, ModulusOf(k))
                              : NarrowChunk(sums, factors, b, u, count, ModulusOf(k));
        const u64 stop = row + (pair ? 2 : 1);
        for (u64 at = done; at < count; at += kSumChunk) {
          Chunk(row, stop, k, u + at, Min(kSumChunk, count - at));
        }
        row = stop;
      }
    }
    if (row < last_row) Chunk(row, last_row, k, u, count);
  }

  // Positions begin .. end of the flattened (k, n), for each of the rows.
  void Rectangle(u64 first_row, u64 last_row, u64 begin, u64 end) const {
    while (begin < end) {
      const u64 k = begin / plan.size, u = begin % plan.size;
      const u64 chunk = IsNarrow(k) ? kNarrowChunk : kSumChunk;
      const u64 count = Min(Min(chunk, plan.size - u), end - begin);
      Stretch(first_row, last_row, k, u, count);
      begin += count;
    }
  }
};

// Operands: out, a, b, q, perm. Axes: r, k, n, s; units are r, k and position u.
template <class V, class In, class Out>
void ModMulAxisSum(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const AxisSum<V, Out> sum(launch, scratch);
  const u64 plane = Dim(launch, 1) * Dim(launch, 2);
  u64 row = begin / plane;
  const u64 last_row = end / plane;
  if (row == last_row) return sum.Rectangle(row, row + 1, begin % plane, end % plane);
  if (begin % plane != 0) {
    sum.Rectangle(row, row + 1, begin % plane, plane);
    ++row;
  }
  if (row < last_row) sum.Rectangle(row, last_row, 0, plane);
  if (end % plane != 0) sum.Rectangle(last_row, last_row + 1, 0, end % plane);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_MODMUL_AXIS_SUM_H_
