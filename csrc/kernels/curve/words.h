// Conversion between points and the words of their coordinates' canonical numbers, the lowest
// first: x, y, of an extension the parts of each. Infinity is all zeros in both forms.
#ifndef CLOAKWORK_KERNELS_CURVE_WORDS_H_
#define CLOAKWORK_KERNELS_CURVE_WORDS_H_

#include "kernels/field/elements.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// The prime field of the parts of a coordinate.
template <class F>
struct PartOf {
  using Part = F;
};
template <class F>
struct PartOf<Fp2<F>> {
  using Part = F;
};

// Points that one call of the conversion handles.
constexpr u64 kWordsBlock = 64;

// Calls body(words' offset, point) for each element; `words` is the operand of words.
template <class Point, class Body>
CW_INLINE void ForEachPoint(const cw_launch& launch, u64 begin, u64 end, u32 words, Body&& body) {
  const u32 points = 1 - words;
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  ForEachBlockOf(kWordsBlock, rows, begin, end, [&](u64 position, u64 count) {
    i64 places[2][kBlock];
    for (int i = 0; i < 2; ++i) rows.ListOffsets(i, position, count, places[i]);
    for (u64 i = 0; i < count; ++i) {
      body(places[words][i], Data<Point>(launch, points)[places[points][i]]);
    }
  });
}

// Operands: out, words (u64, at the lowest). params: distance of a number's words.
template <class V, class In, class Point>
void PointFromWords(const cw_launch& launch, u64 begin, u64 end, void*) {
  using Part = typename PartOf<decltype(Point::x)>::Part;
  const i64 step = launch.params[0];
  ForEachPoint<Point>(launch, begin, end, 1, [&](i64 place, Point& point) {
    Part parts[sizeof(Point) / sizeof(Part)];
    const u64* words = Data<const u64>(launch, 1) + place;
    for (Part& part : parts) {
      Words<Part::kWords> number;
      for (u64& word : number.word) {
        word = *words;
        words += step;
      }
      part = FromCanonical(number, static_cast<const Part*>(nullptr));
    }
    memcpy(&point, parts, sizeof parts);
  });
}

// Operands: out (u64, at the lowest), points. params: distance of a number's words.
template <class V, class Point, class Out>
void PointToWords(const cw_launch& launch, u64 begin, u64 end, void*) {
  using Part = typename PartOf<decltype(Point::x)>::Part;
  const i64 step = launch.params[0];
  ForEachPoint<const Point>(launch, begin, end, 0, [&](i64 place, const Point& point) {
    Part parts[sizeof(Point) / sizeof(Part)];
    memcpy(parts, &point, sizeof parts);
    u64* words = Data<u64>(launch, 0) + place;
    for (const Part& part : parts) {
      const Words<Part::kWords> number = ToCanonical(part);
      for (u64 word : number.word) {
        *words = word;
        words += step;
      }
    }
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_WORDS_H_
