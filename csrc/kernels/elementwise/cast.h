// cast: an element as another type.
//
// Integers keep their low bits. A float loses its fraction; if it is out of a signed type's range
// or NaN, it becomes the least integer, and narrower types keep the low bits of that. A complex
// number loses its imaginary part. A bool is true for every value but 0.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_CAST_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_CAST_H_

#include <type_traits>

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/types.h"

namespace cw {
namespace {

// In C, conversion of a value out of range is undefined: it must not be reached.
template <class F>
CW_INLINE int32_t ToInt32(F x) {
  const bool fits = sizeof(F) == 4 ? x >= (F)-0x1p31 && x < (F)0x1p31
                                   : x > (F)-2147483649.0 && x < (F)0x1p31;
  return fits ? (int32_t)x : INT32_MIN;
}

template <class F>
CW_INLINE int64_t ToInt64(F x) {
  return x >= (F)-0x1p63 && x < (F)0x1p63 ? (int64_t)x : INT64_MIN;
}

// The upper half of the range is converted through the lower half.
template <class F>
CW_INLINE u64 ToUint64(F x) {
  const bool upper = x >= (F)0x1p63 && x < (F)0x1p64;
  const u64 low = (u64)ToInt64(upper ? x - (F)0x1p63 : x);
  return upper ? low + ((u64)1 << 63) : low;
}

template <class Out, class F>
CW_INLINE Out FloatToInteger(F x) {
  if constexpr (sizeof(Out) == 8 && kKind<Out> == Kind::kUnsigned) return ToUint64(x);
  else if constexpr (sizeof(Out) == 8 || (sizeof(Out) == 4 && kKind<Out> == Kind::kUnsigned)) {
    return (Out)ToInt64(x);
  } else {
    return (Out)ToInt32(x);
  }
}

template <class Out, class In>
CW_INLINE Out CastReal(In x) {
  if constexpr (kKind<In> == Kind::kBool) return (Out)(x.bit != 0);
  else if constexpr (kKind<In> == Kind::kFloat && kInteger<Out>) return FloatToInteger<Out>(x);
  else return (Out)x;
}

template <class Out, class In>
CW_INLINE Out CastElement(In x) {
  if constexpr (kKind<Out> == Kind::kComplex) {
    using Part = decltype(Out::re);
    if constexpr (kKind<In> == Kind::kComplex) return {(Part)x.re, (Part)x.im};
    else return {CastReal<Part>(x), 0};
  } else if constexpr (kKind<Out> == Kind::kBool) {
    if constexpr (kKind<In> == Kind::kComplex) return Truth((x.re != 0) | (x.im != 0));
    else return Truth(x != 0);
  } else {
    if constexpr (kKind<In> == Kind::kComplex) return CastReal<Out>(x.re);
    else return CastReal<Out>(x);
  }
}

template <class Out>
struct CastOp {
  template <class In>
  static CW_INLINE Out Apply(In x) {
    return CastElement<Out>(x);
  }
};

// Casts with the same bits share their code: integers to integers of as many bits or fewer, signed
// or unsigned, and casts to a small integer through a larger one.
template <class In, class Out>
constexpr bool kFromWord = kInteger<In> && kInteger<Out> && sizeof(In) >= sizeof(Out);
template <class In, class Out>
constexpr bool kToWord = kInteger<Out> && (kKind<In> < Kind::kFloat || sizeof(Out) <= 2);

template <class V, class In, class Out>
void Cast(const cw_launch& launch, u64 begin, u64 end, void*) {
  using From = std::conditional_t<kFromWord<In, Out>, AsWord<In>, In>;
  using To = std::conditional_t<kToWord<In, Out>, AsWord<Out>, Out>;
  RunUnary<CastOp<To>, From, To>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_CAST_H_
