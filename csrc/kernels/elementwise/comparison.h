// Comparisons and tests: the result is a bool. A bool operand is true unless it is 0.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_COMPARISON_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_COMPARISON_H_

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/types.h"

namespace cw {
namespace {

struct EqualOp {
  template <class T>
  static CW_INLINE Bool Apply(T a, T b) {
    return Truth(a == b);
  }
  template <class T>
  static CW_INLINE Bool Apply(Complex<T> a, Complex<T> b) {
    return Truth((a.re == b.re) & (a.im == b.im));
  }
  static CW_INLINE Bool Apply(Bool a, Bool b) { return Truth((a.bit != 0) == (b.bit != 0)); }
};

struct NotEqualOp {
  template <class T>
  static CW_INLINE Bool Apply(T a, T b) {
    return Truth(a != b);
  }
  template <class T>
  static CW_INLINE Bool Apply(Complex<T> a, Complex<T> b) {
    return Truth((a.re != b.re) | (a.im != b.im));
  }
  static CW_INLINE Bool Apply(Bool a, Bool b) { return Truth((a.bit != 0) != (b.bit != 0)); }
};

struct LessOp {
  template <class T>
  static CW_INLINE Bool Apply(T a, T b) {
    return Truth(a < b);
  }
  static CW_INLINE Bool Apply(Bool a, Bool b) { return Truth((a.bit == 0) & (b.bit != 0)); }
};

struct LessEqualOp {
  template <class T>
  static CW_INLINE Bool Apply(T a, T b) {
    return Truth(a <= b);
  }
  static CW_INLINE Bool Apply(Bool a, Bool b) { return Truth((a.bit == 0) | (b.bit != 0)); }
};

struct GreaterOp {
  template <class T>
  static CW_INLINE Bool Apply(T a, T b) {
    return LessOp::Apply(b, a);
  }
};

struct GreaterEqualOp {
  template <class T>
  static CW_INLINE Bool Apply(T a, T b) {
    return LessEqualOp::Apply(b, a);
  }
};

template <>
constexpr bool kCommutes<EqualOp> = true;
template <>
constexpr bool kCommutes<NotEqualOp> = true;

CW_BINARY(Equal, AsWord)
CW_BINARY(NotEqual, AsWord)
CW_BINARY(Less, AsIs)
CW_BINARY(LessEqual, AsIs)

// a > b is b < a.
template <class V, class In, class Out>
void Greater(const cw_launch& launch, u64 begin, u64 end, void*) {
  RunBinary<GreaterOp, In, Out, SwappedCore<LessOp, In, Out>>(launch, begin, end);
}
template <class V, class In, class Out>
void GreaterEqual(const cw_launch& launch, u64 begin, u64 end, void*) {
  RunBinary<GreaterEqualOp, In, Out, SwappedCore<LessEqualOp, In, Out>>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_COMPARISON_H_
