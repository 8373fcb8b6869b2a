// The complex functions of C's library, on the complex elements of kernels.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_C_COMPLEX_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_C_COMPLEX_H_

#include "kernels/common.h"

namespace cw {
namespace {

// C's complex types, as the C library takes and returns them.
CW_INLINE _Complex float ToC(Complex64 a) {
  _Complex float c;
  __real__ c = a.re;
  __imag__ c = a.im;
  return c;
}
CW_INLINE _Complex double ToC(Complex128 a) {
  _Complex double c;
  __real__ c = a.re;
  __imag__ c = a.im;
  return c;
}
CW_INLINE Complex64 FromC(_Complex float c) { return {__real__ c, __imag__ c}; }
CW_INLINE Complex128 FromC(_Complex double c) { return {__real__ c, __imag__ c}; }

#define CW_C_FUNCTION(name)                                                                      \
  static CW_INLINE Complex64 name(Complex64 a) { return FromC(__builtin_c##name##f(ToC(a))); }   \
  static CW_INLINE Complex128 name(Complex128 a) { return FromC(__builtin_c##name(ToC(a))); }
struct CLibrary {
  CW_C_FUNCTION(exp)
  CW_C_FUNCTION(log)
  CW_C_FUNCTION(sin)
  CW_C_FUNCTION(cos)
  CW_C_FUNCTION(tan)
  CW_C_FUNCTION(asin)
  CW_C_FUNCTION(acos)
  CW_C_FUNCTION(atan)
  CW_C_FUNCTION(sinh)
  CW_C_FUNCTION(cosh)
  CW_C_FUNCTION(tanh)
  CW_C_FUNCTION(asinh)
  CW_C_FUNCTION(acosh)
  CW_C_FUNCTION(atanh)
  CW_C_FUNCTION(sqrt)
  static CW_INLINE Complex128 pow(Complex128 a, Complex128 b) {
    return FromC(__builtin_cpow(ToC(a), ToC(b)));
  }
};
#undef CW_C_FUNCTION

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_C_COMPLEX_H_
