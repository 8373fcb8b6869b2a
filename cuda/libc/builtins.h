// GCC's builtin functions, which the kernels of csrc use, in terms of CUDA's. Included first.
#ifndef CLOAKWORK_CUDA_BUILTINS_H_
#define CLOAKWORK_CUDA_BUILTINS_H_

#define __ATOMIC_RELAXED 0
#define __builtin_prefetch(...) ((void)0)
#define __builtin_expect(condition, usual) (condition)
#define __builtin_memcmp memcmp

inline int __builtin_clz(unsigned x) { return __clz((int)x); }
inline int __builtin_clzll(unsigned long long x) { return __clzll((long long)x); }
inline int __builtin_ctzll(unsigned long long x) { return __ffsll((long long)x) - 1; }

template <class T>
inline T __atomic_load_n(T* at, int) {
  return *const_cast<volatile T*>(at);
}
inline bool __atomic_compare_exchange_n(unsigned long* at, unsigned long* expected,
                                        unsigned long desired, bool, int, int) {
  const unsigned long was = atomicCAS((unsigned long long*)at, *expected, desired);
  const bool same = was == *expected;
  *expected = was;
  return same;
}

#define CW_BUILTIN(name)                                               \
  inline float __builtin_##name##f(float a) { return ::name##f(a); }   \
  inline double __builtin_##name(double a) { return ::name(a); }
CW_BUILTIN(acos)
CW_BUILTIN(acosh)
CW_BUILTIN(asin)
CW_BUILTIN(asinh)
CW_BUILTIN(atan)
CW_BUILTIN(atanh)
CW_BUILTIN(ceil)
CW_BUILTIN(cos)
CW_BUILTIN(cosh)
CW_BUILTIN(exp)
CW_BUILTIN(expm1)
CW_BUILTIN(fabs)
CW_BUILTIN(floor)
CW_BUILTIN(log)
CW_BUILTIN(log10)
CW_BUILTIN(log1p)
CW_BUILTIN(log2)
CW_BUILTIN(rint)
CW_BUILTIN(sin)
CW_BUILTIN(sinh)
CW_BUILTIN(sqrt)
CW_BUILTIN(tan)
CW_BUILTIN(tanh)
CW_BUILTIN(trunc)
#undef CW_BUILTIN

#define CW_BUILTIN(name)                                                               \
  inline float __builtin_##name##f(float a, float b) { return ::name##f(a, b); }       \
  inline double __builtin_##name(double a, double b) { return ::name(a, b); }
CW_BUILTIN(atan2)
CW_BUILTIN(fmod)
CW_BUILTIN(hypot)
CW_BUILTIN(nextafter)
CW_BUILTIN(pow)
#undef CW_BUILTIN

// NVRTC makes a call of the builtin function out of ::copysign of a constant: it would call itself.
inline float __builtin_copysignf(float a, float b) {
  const unsigned size = __float_as_uint(a) & 0x7fffffffu;
  return __uint_as_float(size | (__float_as_uint(b) & 0x80000000u));
}
inline double __builtin_copysign(double a, double b) {
  const long long sign = (long long)(1ull << 63);
  return __longlong_as_double((__double_as_longlong(a) & ~sign) | (__double_as_longlong(b) & sign));
}

inline float __builtin_fmaf(float a, float b, float c) { return ::fmaf(a, b, c); }
inline double __builtin_fma(double a, double b, double c) { return ::fma(a, b, c); }

constexpr float __builtin_inff() { return __builtin_bit_cast(float, 0x7f800000u); }
constexpr double __builtin_inf() { return __builtin_bit_cast(double, 0x7ff0000000000000ul); }
constexpr float __builtin_nanf(const char*) { return __builtin_bit_cast(float, 0x7fc00000u); }
constexpr double __builtin_nan(const char*) {
  return __builtin_bit_cast(double, 0x7ff8000000000000ul);
}
template <class F>
inline bool __builtin_isfinite(F a) {
  return ::fabs((double)a) < __builtin_inf();
}
template <class F>
inline bool __builtin_isinf(F a) {
  return ::fabs((double)a) == __builtin_inf();
}

#endif  // CLOAKWORK_CUDA_BUILTINS_H_
