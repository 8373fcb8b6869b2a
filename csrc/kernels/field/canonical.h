// Between elements and the words of their canonical numbers, the lowest first.
#ifndef CLOAKWORK_KERNELS_FIELD_CANONICAL_H_
#define CLOAKWORK_KERNELS_FIELD_CANONICAL_H_

#include "kernels/field/blocks.h"

namespace cw {
namespace {

// Operands: out, words (u64, at the lowest). params: distance of a number's words.
template <class V, class In, class Out>
void FromCanonicalWords(const cw_launch& launch, u64 begin, u64 end, void*) {
  const i64 step = launch.params[0];
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  Out buffer[kGathered];
  i64 offsets[kBlock];
  ForEachBlockOf(kGathered, rows, begin, end, [&](u64 position, u64 count) {
    rows.ListOffsets(1, position, count, offsets);
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, buffer);
    for (u64 i = 0; i < count; ++i) {
      Words<Out::kWords> number;
      for (u32 j = 0; j < Out::kWords; ++j) {
        number.word[j] = Data<const u64>(launch, 1)[offsets[i] + (i64)j * step];
      }
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
  In buffer[kGathered];
  i64 offsets[kBlock];
  ForEachBlockOf(kGathered, rows, begin, end, [&](u64 position, u64 count) {
    rows.ListOffsets(0, position, count, offsets);
    const In* a = FetchBlock(rows, 1, Data<const In>(launch, 1), position, count, buffer);
    for (u64 i = 0; i < count; ++i) {
      const Words<In::kWords> number = ToCanonical(a[i]);
      for (u32 j = 0; j < In::kWords; ++j) {
        Data<u64>(launch, 0)[offsets[i] + (i64)j * step] = number.word[j];
      }
    }
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_CANONICAL_H_
