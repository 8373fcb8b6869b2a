// Words, dtypes and access to a launch, for every kernel file.
//
// Everything below csrc/kernels except the symbols of kernels.inc is in an anonymous namespace: a
// template compiled with -mavx512f must never replace the portable copy when objects are linked.
#ifndef CLOAKWORK_KERNELS_COMMON_H_
#define CLOAKWORK_KERNELS_COMMON_H_

#include <stdint.h>
#include <string.h>

#include "cloakwork/kernel.h"

// Instrumented code is several times as large: inlined everywhere, it takes hours to compile. For
// GPUs the compiler decides.
#if defined(__SANITIZE_ADDRESS__) || defined(CW_CUDA)
#define CW_INLINE inline
#else
#define CW_INLINE inline __attribute__((always_inline))
#endif
// Functions that GPUs call rather than inline: their code is large, and takes long to compile.
#if defined(CW_CUDA)
#define CW_CALLED inline __attribute__((noinline))
#else
#define CW_CALLED inline
#endif
// Large functions with many callers. A kernel of a GPU that is not tuned has one copy of them.
#if defined(CW_CUDA_UNITS)
#define CW_LARGE inline __attribute__((noinline))
#else
#define CW_LARGE CW_INLINE
#endif

namespace cw {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i64 = int64_t;
using u128 = unsigned __int128;
using i128 = __int128;

constexpr u32 kMaxRank = 16;
constexpr u64 kAlignment = 64;

// An element of which only the size matters.
template <class T>
struct Opaque {
  T bits;
};
using Any8 = Opaque<uint8_t>;
using Any16 = Opaque<uint16_t>;
using Any32 = Opaque<uint32_t>;
using Any64 = Opaque<uint64_t>;
// Aligned like its halves, as in other libraries' complex arrays.
struct TwoWords {
  u64 low, high;
};
using Any128 = Opaque<TwoWords>;

// The ABI's name of an element type.
template <class T>
struct Element;
template <class T>
struct Element<Opaque<T>> {
  static constexpr u32 kDtype = CW_ANY, kBytes = sizeof(T);
};
template <u32 dtype>
struct TypedElement {
  static constexpr u32 kDtype = dtype, kBytes = 0;
};
// One byte, 0 or 1: C++'s own bool must not be read from a byte that other code wrote.
struct Bool {
  uint8_t bit;
};
template <class T>
struct Complex {
  T re, im;
};
using Complex64 = Complex<float>;
using Complex128 = Complex<double>;

template <>
struct Element<Bool> : TypedElement<CW_BOOL> {};
template <>
struct Element<int8_t> : TypedElement<CW_I8> {};
template <>
struct Element<int16_t> : TypedElement<CW_I16> {};
template <>
struct Element<uint8_t> : TypedElement<CW_U8> {};
template <>
struct Element<uint16_t> : TypedElement<CW_U16> {};
template <>
struct Element<uint32_t> : TypedElement<CW_U32> {};
template <>
struct Element<Complex64> : TypedElement<CW_C64> {};
template <>
struct Element<Complex128> : TypedElement<CW_C128> {};
template <>
struct Element<int32_t> : TypedElement<CW_I32> {};
template <>
struct Element<int64_t> : TypedElement<CW_I64> {};
template <>
struct Element<uint64_t> : TypedElement<CW_U64> {};
template <>
struct Element<float> : TypedElement<CW_F32> {};
template <>
struct Element<double> : TypedElement<CW_F64> {};

CW_INLINE u64 Min(u64 a, u64 b) { return a < b ? a : b; }
CW_INLINE u64 RoundUp(u64 bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

CW_INLINE u64 Dim(const cw_launch& launch, u32 axis) { return (u64)launch.dims[axis]; }

CW_INLINE const i64* Strides(const cw_launch& launch, u32 operand) {
  return launch.strides + (u64)operand * launch.rank;
}

template <class T>
CW_INLINE T* Data(const cw_launch& launch, u32 operand) {
  return static_cast<T*>(launch.data[operand]);
}

// Elements of the whole iteration space.
CW_INLINE u64 Elements(const cw_launch& launch) {
  u64 count = 1;
  for (u32 axis = 0; axis < launch.rank; ++axis) count *= Dim(launch, axis);
  return count;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_COMMON_H_
