// Bits of integers, and booleans.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_BITWISE_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_BITWISE_H_

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/types.h"

namespace cw {
namespace {

struct AndOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return (T)(a & b);
  }
  static CW_INLINE Bool Apply(Bool a, Bool b) { return Truth((a.bit != 0) & (b.bit != 0)); }
};

struct OrOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return (T)(a | b);
  }
  static CW_INLINE Bool Apply(Bool a, Bool b) { return Truth((a.bit | b.bit) != 0); }
};

struct XorOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    return (T)(a ^ b);
  }
  static CW_INLINE Bool Apply(Bool a, Bool b) { return Truth((a.bit != 0) != (b.bit != 0)); }
};

struct InvertOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return (T)~a;
  }
  static CW_INLINE Bool Apply(Bool a) { return Truth(a.bit == 0); }
};

// Counts are compared as unsigned: a negative one is also beyond the width.
struct LeftShiftOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    constexpr T kLast = 8 * sizeof(T) - 1;
    return b <= kLast ? (T)((Wide<T>)a << (b & kLast)) : (T)0;
  }
};

// Beyond the width, only the sign is left.
struct RightShiftOp {
  template <class T>
  static CW_INLINE T Apply(T a, T b) {
    constexpr AsWord<T> kLast = 8 * sizeof(T) - 1;
    const AsWord<T> count = (AsWord<T>)b < kLast ? (AsWord<T>)b : kLast;
    if constexpr (kKind<T> == Kind::kSigned) return (T)(a >> count);
    else return (AsWord<T>)b <= kLast ? (T)(a >> count) : (T)0;
  }
};

template <>
constexpr bool kCommutes<AndOp> = true;
template <>
constexpr bool kCommutes<OrOp> = true;
template <>
constexpr bool kCommutes<XorOp> = true;

CW_BINARY(And, AsWord)
CW_BINARY(Or, AsWord)
CW_BINARY(Xor, AsWord)
CW_UNARY(Invert, AsWord)
CW_BINARY(LeftShift, AsWord)
CW_BINARY(RightShift, AsIs)

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_BITWISE_H_
