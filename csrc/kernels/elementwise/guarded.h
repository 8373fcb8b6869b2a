// Functions that are fast for most arguments: Op::Near is a formula for vectors, Op::IsFar tells
// for which arguments it does not hold, and Op::Far is called for those, one element at a time.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_GUARDED_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_GUARDED_H_

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/series.h"

namespace cw {
namespace {

// out may be an input: its block is stored when the arguments are no longer needed.
template <class Op, class T>
void GuardedUnaryCore(void* out, const void* const* in, u64 count, u32) {
  for (u64 start = 0; start < count; start += kBlock) {
    const T* a = static_cast<const T*>(in[0]) + start;
    const u64 size = Min(kBlock, count - start);
    T block[kBlock];
    for (u64 i = 0; i < size; ++i) block[i] = Op::Near(a[i]);
    u32 far = 0;
    for (u64 i = 0; i < size; ++i) far |= Op::IsFar(a[i]);
    for (u64 i = 0; far != 0 && i < size; ++i) {
      if (Op::IsFar(a[i])) block[i] = Op::Far(a[i]);
    }
    memcpy(static_cast<T*>(out) + start, block, size * sizeof(T));
  }
}

template <class Op, class T>
void GuardedBinaryCore(void* out, const void* const* in, u64 count, u32) {
  for (u64 start = 0; start < count; start += kBlock) {
    const T* a = static_cast<const T*>(in[0]) + start;
    const T* b = static_cast<const T*>(in[1]) + start;
    const u64 size = Min(kBlock, count - start);
    T block[kBlock];
    for (u64 i = 0; i < size; ++i) block[i] = Op::Near(a[i], b[i]);
    u32 far = 0;
    for (u64 i = 0; i < size; ++i) far |= Op::IsFar(a[i], b[i]);
    for (u64 i = 0; far != 0 && i < size; ++i) {
      if (Op::IsFar(a[i], b[i])) block[i] = Op::Far(a[i], b[i]);
    }
    memcpy(static_cast<T*>(out) + start, block, size * sizeof(T));
  }
}

// Angles are far if the number of their quarter turns has more bits than the parts of pi / 2 allow.
struct AngleOp {
  template <class T>
  static CW_INLINE bool IsFar(T a) {
    return !(__builtin_fabs((double)a) <= kFarAngle);
  }
};
struct SinOp : AngleOp {
  static CW_INLINE float Far(float a) { return __builtin_sinf(a); }
  static CW_INLINE double Far(double a) { return __builtin_sin(a); }
  template <class T>
  static CW_INLINE T Near(T a) {
    return SinOf(a);
  }
  template <class T>
  static CW_INLINE T Apply(T a) {
    return IsFar(a) ? Far(a) : Near(a);
  }
};
struct CosOp : AngleOp {
  static CW_INLINE float Far(float a) { return __builtin_cosf(a); }
  static CW_INLINE double Far(double a) { return __builtin_cos(a); }
  template <class T>
  static CW_INLINE T Near(T a) {
    return CosOf(a);
  }
  template <class T>
  static CW_INLINE T Apply(T a) {
    return IsFar(a) ? Far(a) : Near(a);
  }
};
struct TanOp : AngleOp {
  static CW_INLINE float Far(float a) { return __builtin_tanf(a); }
  static CW_INLINE float Near(float a) { return TanOf(a); }
  static CW_INLINE float Apply(float a) { return IsFar(a) ? Far(a) : Near(a); }
};

// Bases that are not positive, infinities and NaN have special rules.
struct PowerOp {
  static CW_INLINE bool IsFar(float a, float b) {
    const float infinity = __builtin_inff();
    return !((a > 0) & (a < infinity) & (__builtin_fabsf(b) < infinity));
  }
  static CW_INLINE float Far(float a, float b) { return __builtin_powf(a, b); }
  static CW_INLINE float Near(float a, float b) { return PowOf(a, b); }
  static CW_INLINE float Apply(float a, float b) { return IsFar(a, b) ? Far(a, b) : Near(a, b); }
};

template <class V, class In, class Out>
void Sin(const cw_launch& launch, u64 begin, u64 end, void*) {
  RunUnary<SinOp, In, Out, GuardedUnaryCore<SinOp, In>>(launch, begin, end);
}
template <class V, class In, class Out>
void Cos(const cw_launch& launch, u64 begin, u64 end, void*) {
  RunUnary<CosOp, In, Out, GuardedUnaryCore<CosOp, In>>(launch, begin, end);
}
template <class V, class In, class Out>
void Tan(const cw_launch& launch, u64 begin, u64 end, void*) {
  RunUnary<TanOp, In, Out, GuardedUnaryCore<TanOp, In>>(launch, begin, end);
}
template <class V, class In, class Out>
void Power(const cw_launch& launch, u64 begin, u64 end, void*) {
  RunBinary<PowerOp, In, Out, GuardedBinaryCore<PowerOp, In>, 0>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_GUARDED_H_
