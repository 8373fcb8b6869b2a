// Groups of element types, and the types that their arithmetic is done in.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_TYPES_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_TYPES_H_

#include "kernels/common.h"

namespace cw {
namespace {

enum class Kind { kBool, kSigned, kUnsigned, kFloat, kComplex };

// Word: the unsigned type of the same width; floats are their own. Wide: the type in which sums and
// products of Words are computed, unsigned or floating: small integers would become a signed int.
template <class T>
struct TypeOf;
template <Kind kind, class WordType, class WideType>
struct TypeIs {
  static constexpr Kind kKind = kind;
  using Word = WordType;
  using Wide = WideType;
};
template <>
struct TypeOf<Bool> : TypeIs<Kind::kBool, Bool, Bool> {};
template <>
struct TypeOf<int8_t> : TypeIs<Kind::kSigned, uint8_t, u32> {};
template <>
struct TypeOf<int16_t> : TypeIs<Kind::kSigned, uint16_t, u32> {};
template <>
struct TypeOf<int32_t> : TypeIs<Kind::kSigned, u32, u32> {};
template <>
struct TypeOf<int64_t> : TypeIs<Kind::kSigned, u64, u64> {};
template <>
struct TypeOf<uint8_t> : TypeIs<Kind::kUnsigned, uint8_t, u32> {};
template <>
struct TypeOf<uint16_t> : TypeIs<Kind::kUnsigned, uint16_t, u32> {};
template <>
struct TypeOf<uint32_t> : TypeIs<Kind::kUnsigned, u32, u32> {};
template <>
struct TypeOf<uint64_t> : TypeIs<Kind::kUnsigned, u64, u64> {};
template <>
struct TypeOf<float> : TypeIs<Kind::kFloat, float, float> {};
template <>
struct TypeOf<double> : TypeIs<Kind::kFloat, double, double> {};
template <>
struct TypeOf<Complex64> : TypeIs<Kind::kComplex, Complex64, Complex64> {};
template <>
struct TypeOf<Complex128> : TypeIs<Kind::kComplex, Complex128, Complex128> {};

template <class T>
constexpr Kind kKind = TypeOf<T>::kKind;
template <class T>
constexpr bool kInteger = kKind<T> == Kind::kSigned || kKind<T> == Kind::kUnsigned;

// The type under which a kernel reads its elements: their own, or unsigned integers if the results
// have the same bits, so that one copy of the code serves both.
template <class T>
using AsIs = T;
template <class T>
using AsWord = typename TypeOf<T>::Word;
template <class T>
using Wide = typename TypeOf<T>::Wide;

CW_INLINE Bool Truth(bool value) { return {(uint8_t)value}; }

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_TYPES_H_
