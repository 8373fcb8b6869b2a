// The truth of elements, and types whose code serves others too.
#ifndef CLOAKWORK_KERNELS_TRUTH_H_
#define CLOAKWORK_KERNELS_TRUTH_H_

#include "kernels/common.h"

namespace cw {
namespace {

template <class T>
struct TypeIs {
  using Type = T;
};
// The type whose code also serves T if signs do not matter: fewer copies of each algorithm.
template <class T>
struct Unsigned : TypeIs<T> {};
template <>
struct Unsigned<Bool> : TypeIs<uint8_t> {};
template <>
struct Unsigned<int8_t> : TypeIs<uint8_t> {};
template <>
struct Unsigned<int16_t> : TypeIs<uint16_t> {};
template <>
struct Unsigned<int32_t> : TypeIs<uint32_t> {};
template <>
struct Unsigned<int64_t> : TypeIs<uint64_t> {};

template <class T>
CW_INLINE bool IsTrue(T x) {
  return x != 0;
}
template <class T>
CW_INLINE bool IsTrue(Complex<T> x) {
  return (x.re != 0) | (x.im != 0);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_TRUTH_H_
