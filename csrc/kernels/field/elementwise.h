// The element-wise kernels of field elements. Operands and results are reduced.
#ifndef CLOAKWORK_KERNELS_FIELD_ELEMENTWISE_H_
#define CLOAKWORK_KERNELS_FIELD_ELEMENTWISE_H_

#include "kernels/field/vectors.h"

namespace cw {
namespace {

struct FieldAddOp {
  template <class F>
  static CW_INLINE F Apply(const F& a, const F& b) {
    return Add(a, b);
  }
};
struct FieldSubtractOp {
  template <class F>
  static CW_INLINE F Apply(const F& a, const F& b) {
    return Sub(a, b);
  }
};
// A kernel of two operands of one type, element by element.
template <class Op, class In, class Out>
CW_INLINE void FieldPairs(const cw_launch& launch, u64 begin, u64 end) {
  ForEachPair<In, In, Out>(launch, begin, end, [](Out* out, const In* a, const In* b, u64 count) {
    for (u64 i = 0; i < count; ++i) out[i] = Op::Apply(a[i], b[i]);
  });
}
#define CW_FIELD_PAIRS(Name)                                            \
  template <class V, class In, class Out>                               \
  void Name(const cw_launch& launch, u64 begin, u64 end, void*) {       \
    FieldPairs<Name##Op, In, Out>(launch, begin, end);                  \
  }
CW_FIELD_PAIRS(FieldAdd)
CW_FIELD_PAIRS(FieldSubtract)
#undef CW_FIELD_PAIRS

template <class F>
CW_INLINE bool EqualNeighbour(const F& a, const F& b) {
  return Equal(a, b);
}
// Whether related(a, b) differs from `negated`; with `swapped`, related(b, a).
template <class F, bool (*related)(const F&, const F&), bool swapped, bool negated>
void CompareNeighbours(Bool* out, const F* a, const F* b, u64 count) {
  for (u64 i = 0; i < count; ++i) {
    out[i] = {(uint8_t)((swapped ? related(b[i], a[i]) : related(a[i], b[i])) != negated)};
  }
}
template <class F>
__attribute__((noinline)) bool LessNeighbour(const F& a, const F& b) {
  return LessCanonical(a, b);
}
// Elements of prime fields have the order of their canonical numbers.
#define CW_FIELD_COMPARE(Name, related, swapped, negated)                          \
  template <class V, class In, class Out>                                          \
  void Name(const cw_launch& launch, u64 begin, u64 end, void*) {                  \
    ForEachPair<In, In, Out>(launch, begin, end,                                   \
                             CompareNeighbours<In, related<In>, swapped, negated>); \
  }
CW_FIELD_COMPARE(FieldEqual, EqualNeighbour, false, false)
CW_FIELD_COMPARE(FieldNotEqual, EqualNeighbour, false, true)
CW_FIELD_COMPARE(FieldLess, LessNeighbour, false, false)
CW_FIELD_COMPARE(FieldLessEqual, LessNeighbour, true, true)
CW_FIELD_COMPARE(FieldGreater, LessNeighbour, true, false)
CW_FIELD_COMPARE(FieldGreaterEqual, LessNeighbour, false, true)
#undef CW_FIELD_COMPARE

template <class V, class In, class Out>
void FieldMultiply(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachPair<In, In, Out>(launch, begin, end, MulNeighbours<Out>);
}

template <class V, class In, class Out>
void FieldSquare(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachIn<In, Out>(launch, begin, end, SquareNeighbours<Out>);
}

template <class V, class In, class Out>
void FieldNegative(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachIn<In, Out>(launch, begin, end, [](Out* out, const In* a, u64 count) {
    for (u64 i = 0; i < count; ++i) out[i] = Neg(a[i]);
  });
}

template <class V, class In, class Out>
void FieldReciprocal(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachIn<In, Out>(launch, begin, end, InvertNeighbours<Out>);
}

template <class V, class In, class Out>
void FieldDivide(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachPair<In, In, Out>(launch, begin, end, [](Out* out, const In* a, const In* b, u64 count) {
    Out inverse[kBatch];
    InvertNeighbours(inverse, b, count);
    MulNeighbours(out, a, inverse, count);
  });
}

// Operands: out, a, exponent (i64).
template <class V, class In, class Out>
void FieldPower(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachPair<In, i64, Out>(launch, begin, end, PowerNeighbours<Out>);
}

// The magnitudes of integers at offsets, and which are negative.
template <class Integer>
void ReadIntegers(const void* data, const i64* offsets, u64 count, u64* magnitude, bool* negative) {
  for (u64 i = 0; i < count; ++i) {
    const Integer number = static_cast<const Integer*>(data)[offsets[i]];
    negative[i] = number < Integer(0);
    magnitude[i] = negative[i] ? 0 - (u64)number : (u64)number;
  }
}
template <>
inline void ReadIntegers<Bool>(const void* data, const i64* offsets, u64 count, u64* magnitude,
                        bool* negative) {
  for (u64 i = 0; i < count; ++i) {
    magnitude[i] = static_cast<const Bool*>(data)[offsets[i]].bit != 0;
    negative[i] = false;
  }
}

// Integers as elements: mod p, also negative ones.
template <class F, class Reader>
__attribute__((noinline)) void CastIntegers(const cw_launch& launch, u64 begin, u64 end,
                                            Reader read) {
  Rows<2> rows(launch.rank, launch.dims, {Strides(launch, 0), Strides(launch, 1)});
  F buffer[kGathered];
  i64 offsets[kBlock];
  u64 magnitude[kGathered];
  bool negative[kGathered];
  ForEachBlockOf(kGathered, rows, begin, end, [&](u64 position, u64 count) {
    rows.ListOffsets(1, position, count, offsets);
    read(launch.data[1], offsets, count, magnitude, negative);
    F* out = OpenBlock(rows, 0, Data<F>(launch, 0), position, buffer);
    for (u64 i = 0; i < count; ++i) {
      const F number = FromU64<F>(magnitude[i]);
      out[i] = negative[i] ? Neg(number) : number;
    }
    FlushBlock(rows, 0, Data<F>(launch, 0), position, count, out);
  });
}

template <class V, class In, class Out>
void FieldCast(const cw_launch& launch, u64 begin, u64 end, void*) {
  CastIntegers<Out>(launch, begin, end, ReadIntegers<In>);
}

// Embeds elements of a prime field in its extension.
template <class V, class In, class Out>
void FieldEmbed(const cw_launch& launch, u64 begin, u64 end, void*) {
  ForEachIn<In, Out>(launch, begin, end, [](Out* out, const In* a, u64 count) {
    for (u64 i = 0; i < count; ++i) out[i] = {{a[i]}};
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_ELEMENTWISE_H_
