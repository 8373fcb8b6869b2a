// Conversion between elements and the words of their canonical numbers, the lowest first.
#ifndef CLOAKWORK_KERNELS_FIELD_CANONICAL_H_
#define CLOAKWORK_KERNELS_FIELD_CANONICAL_H_

#include "kernels/field/vectors.h"

namespace cw {
namespace {

// Whether an operand of words, `step` apart within a number, has the layout of elements F in
// Montgomery form: then one product converts between them.
template <class F>
CW_INLINE bool NumbersLieDense(const Rows<2>& rows, int operand, i64 step) {
  if (!kOfMontgomeryWords<F> || step != 1) return false;
  return rows.stepped[0] && rows.stepped[1] && rows.step[operand] == (i64)F::kWords;
}

// Operands: out, words (u64, at the lowest). params: distance of a number's words.
template <class V, class In, class Out>
void FromCanonicalWords(const cw_launch& launch, u64 begin, u64 end, void*) {
  const i64 step = launch.params[0];
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  const u64* words = Data<const u64>(launch, 1);
  const bool dense = NumbersLieDense<Out>(rows, 1, step);
  Out buffer[kBatch];
  i64 offsets[kBlock];
  ForEachBlockOf(dense ? kBatch : kGathered, rows, begin, end, [&](u64 position, u64 count) {
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    if constexpr (kOfMontgomeryWords<Out>) {
      if (dense) {
        const u64* first = words + rows.offset[1] + (i64)(position * Out::kWords);
        constexpr u32 kTop = Out::kWords - 1;
        const Out square = {Out::Prime::RSquared()};
        static_assert(Out::kWords != 4 || Out::Prime::RSquared().word[kTop] <
                                              Out::Prime::Modulus().word[kTop] / 2,
                      "so the product with any number is below 2 p");
        ScaleNeighbours(out, reinterpret_cast<const Out*>(first), square, count);
        FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
        return;
      }
    }
    rows.ListOffsets(1, position, count, offsets);
    for (u64 i = 0; i < count; ++i) {
      Words<Out::kWords> number;
      for (u32 j = 0; j < Out::kWords; ++j) number.word[j] = words[offsets[i] + (i64)j * step];
      out[i] = FromCanonical(number, static_cast<const Out*>(nullptr));
    }
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, out);
  });
}

// Operands: out (u64, at the lowest), a. params: distance of a number's words.
template <class V, class In, class Out>
void ToCanonicalWords(const cw_launch& launch, u64 begin, u64 end, void*) {
  const i64 step = launch.params[0];
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  u64* words = Data<u64>(launch, 0);
  const bool dense = NumbersLieDense<In>(rows, 0, step);
  In buffer[kBatch];
  i64 offsets[kBlock];
  ForEachBlockOf(dense ? kBatch : kGathered, rows, begin, end, [&](u64 position, u64 count) {
    if constexpr (kOfMontgomeryWords<In>) {
      if (dense) {
        const In* a = FetchBlock(rows, 1, Data<const In>(launch, 1), position, count, buffer);
        u64* first = words + rows.offset[0] + (i64)(position * In::kWords);
        In one = {};
        one.value.word[0] = 1;
        ScaleNeighbours(reinterpret_cast<In*>(first), a, one, count);
        return;
      }
    }
    const In* a = FetchBlock(rows, 1, Data<const In>(launch, 1), position, count, buffer);
    rows.ListOffsets(0, position, count, offsets);
    for (u64 i = 0; i < count; ++i) {
      const Words<In::kWords> number = ToCanonical(a[i]);
      for (u32 j = 0; j < In::kWords; ++j) words[offsets[i] + (i64)j * step] = number.word[j];
    }
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_CANONICAL_H_
