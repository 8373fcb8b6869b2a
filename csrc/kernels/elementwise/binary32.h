// exp, log, sin, tanh, atan and their kin for binary32, in binary32: plain arithmetic and fused
// multiply-adds without branches or tables, which the compiler turns into vectors of 16. A fused
// multiply-add is one rounding everywhere, so that all instruction sets give the same bits.
//
// Arguments are brought near 0 (Cody and Waite, Software Manual for the Elementary Functions,
// 1980); the polynomials there are near-minimax fits at Chebyshev points.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_BINARY32_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_BINARY32_H_

#include "kernels/rows.h"

namespace cw {
namespace {

CW_INLINE u32 BitsOf32(float x) {
  u32 bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
CW_INLINE float OfBits32(u32 bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
CW_INLINE float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CW_INLINE double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

// x + kWhole32 has the integer nearest to x in its low bits, for |x| < 2^22.
constexpr float kWhole32 = 0x1.8p23f;
constexpr float kInfinity32 = __builtin_inff();

// c[first] + x c[first + 1] + x^2 c[first + 2] + ...; a loop would be no vector.
template <int first = 0, int n, class T>
CW_INLINE T Polynomial(const T (&c)[n], T x) {
  if constexpr (first + 1 == n) return c[first];
  else return Fma(Polynomial<first + 1>(c, x), x, c[first]);
}

CW_INLINE float Clamp32(float x, float low, float high) {
  x = x > high ? high : x;  // NaN stays
  return x < low ? low : x;
}
CW_INLINE float WithSign(float size, float sign) {
  return OfBits32((BitsOf32(size) & 0x7fffffff) | (BitsOf32(sign) & 0x80000000));
}
// 2^k for k in -126 .. 127.
CW_INLINE float PowerOfTwo32(float k) { return OfBits32((BitsOf32(k + kWhole32) + 127) << 23); }

// exp(r) - 1 = r + r^2 (1/2 + ...), |r| <= 0.35, within 2e-9 r^2.
constexpr float kExp32[] = {0x1.000000p-1f, 0x1.555556p-3f, 0x1.5554e4p-5f,
                            0x1.1110e0p-7f, 0x1.6d4920p-10f, 0x1.a12a42p-13f};
constexpr float kLog2E32 = 0x1.715476p0f, kLog2ELow32 = 0x1.4ae0c0p-26f;
constexpr float kLn2High32 = 0x1.62e430p-1f, kLn2Low32 = -0x1.05c610p-29f;

// exp(x) = 2^k (1 + r + rest).
struct Exponential32 {
  float k, r, rest;
};
CW_INLINE Exponential32 SplitExp32(float x) {
  const float k = Fma(x, kLog2E32, kWhole32) - kWhole32;
  const float r = Fma(-k, kLn2Low32, Fma(-k, kLn2High32, x));
  return {k, r, r * r * Polynomial(kExp32, r)};
}
CW_INLINE float Exp32(float x) {
  const Exponential32 e = SplitExp32(Clamp32(x, -104, 90));
  // In two steps: 2^k alone may be out of range.
  const float half = Fma(e.k, 0.5f, kWhole32) - kWhole32;
  return (1 + (e.r + e.rest)) * PowerOfTwo32(half) * PowerOfTwo32(e.k - half);
}
// exp(x) - 1 for -20 < x < 89.
CW_INLINE float Expm1InRange32(float x) {
  const Exponential32 e = SplitExp32(x);
  // 2^k alone may be out of range. What sums lose goes with the small part.
  const float half = PowerOfTwo32(e.k - 1), whole = half - 0.5f;
  const float lost = half > 1 ? (half - whole) - 0.5f : half - (whole + 0.5f);
  const float sum = Fma(e.r, half, whole), part = Fma(e.r, half, whole - sum);
  return 2 * (sum + Fma(e.rest, half, lost + part));
}
CW_INLINE float Expm132(float x) {
  const float found = Expm1InRange32(Clamp32(x, -20, 88.8f));
  return __builtin_fabsf(x) < 0x1p-25f ? x : found;  // also -0 and subnormal numbers
}

// log(1 + f) = f - f^2/2 + f^3 (1/3 + ...), 1 + f between sqrt(1/2) and sqrt(2), within 3e-8 f^3.
constexpr float kLog32[] = {0x1.555554p-2f,  -0x1.fffffcp-3f, 0x1.999d5ap-3f,
                            -0x1.555b4ap-3f, 0x1.23d21ap-3f,  -0x1.fcf4c6p-4f,
                            0x1.dea282p-4f,  -0x1.d635bcp-4f, 0x1.1d8ea6p-4f};
// x = 2^e (1 + f), log(1 + f) = f + tail.
struct Logarithm32 {
  float e, f, tail;
};
CW_INLINE Logarithm32 SplitLog32(float x) {
  constexpr u32 kRootHalf = 0x3f3504f3;
  const bool subnormal = x < 0x1p-126f;
  const u32 bits = BitsOf32(subnormal ? x * 0x1p23f : x) - kRootHalf;
  const float e = (float)((int32_t)bits >> 23) - (subnormal ? 23.0f : 0.0f);
  const float f = OfBits32((bits & 0x007fffff) + kRootHalf) - 1;
  const float square = f * f;
  return {e, f, Fma(-0.5f, square, square * (f * Polynomial(kLog32, f)))};
}
// The special values of every logarithm.
CW_INLINE float SelectLog32(float x, float log) {
  log = x < kInfinity32 ? log : x;  // infinity and NaN
  log = x == 0 ? -kInfinity32 : log;
  return x < 0 ? __builtin_nanf("") : log;
}
CW_INLINE float Log32(float x) {
  const Logarithm32 l = SplitLog32(x);
  const float near = l.f + Fma(l.e, kLn2Low32, l.tail);
  return SelectLog32(x, Fma(l.e, kLn2High32, near));
}
// log(u) + (x - (u - 1)) / u, u = 1 + x as rounded.
CW_INLINE float Log1p32(float x) {
  const float u = 1 + x, lost = u > 2 ? 1 - (u - x) : x - (u - 1);
  const Logarithm32 l = SplitLog32(u);
  const float tail = Fma(l.e, kLn2Low32, l.tail) + lost / u;
  const float found = SelectLog32(u, Fma(l.e, kLn2High32, l.f + tail));
  return x == 0 || !(u < kInfinity32) ? (u != u ? found : x) : found;
}
// e scale + (f + tail) factor, where scale is 1 or has a short leading part.
CW_INLINE float ScaledLog32(const Logarithm32& l, float scale, float scale_low, float factor,
                            float factor_low) {
  const float high = l.f * factor;
  const float low = Fma(l.f, factor, -high) + Fma(l.f, factor_low, l.tail * factor);
  const float whole = l.e * scale, sum = whole + high;
  return sum + ((whole - sum) + high + Fma(l.e, scale_low, low));
}
CW_INLINE float Log232(float x) {
  return SelectLog32(x, ScaledLog32(SplitLog32(x), 1, 0, kLog2E32, kLog2ELow32));
}
CW_INLINE float Log1032(float x) {
  // log10(2) in parts, the leading one of 12 bits: its products with exponents are exact.
  const Logarithm32 l = SplitLog32(x);
  const float found =
      ScaledLog32(l, 0x1.344p-2f, 0x1.3509f8p-18f, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f);
  return SelectLog32(x, found);
}

// x = k pi/2 + r + rest, |r| <= pi/4; quarter is k, its low bits. |x| < 2^20.
struct Angle32 {
  float r, rest;
  u32 quarter;
};
CW_INLINE Angle32 Reduce32(float x) {
  const float shifted = Fma(x, 0x1.45f306p-1f, kWhole32), k = shifted - kWhole32;
  const float first = Fma(-k, 0x1.921fb6p0f, x);  // exact: its bits are those of the product
  const float second = k * 0x1.777a5cp-25f, r = first + second;
  // What the product and the sum lost.
  const float part = r - first, lost = (first - (r - part)) + (second - part);
  const float rest = Fma(k, 0x1.777a5cp-25f, -second) + Fma(k, 0x1.ee59dap-50f, lost);
  return {r, rest, BitsOf32(shifted)};
}
// (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 of r^2, within 3e-11 and 2e-9.
constexpr float kSin32[] = {-0x1.555556p-3f, 0x1.11110ep-7f, -0x1.a013a2p-13f, 0x1.6dbbeep-19f};
constexpr float kCos32[] = {0x1.555544p-5f, -0x1.6c12cep-10f, 0x1.9bd66cp-16f};
CW_INLINE float SinNear32(const Angle32& angle, float z) {
  return angle.r + Fma(angle.r * z, Polynomial(kSin32, z), angle.rest);
}
CW_INLINE float CosNear32(const Angle32& angle, float z) {
  const float near = Fma(-0.5f, z, 1);
  const float lost = Fma(-0.5f, z, 1 - near);
  return near + Fma(z * z, Polynomial(kCos32, z), Fma(-angle.r, angle.rest, lost));
}
// The sine of x plus `turns` quarter turns.
CW_INLINE float SinOfQuarters32(float x, u32 turns) {
  const Angle32 angle = Reduce32(x);
  const u32 quarter = angle.quarter + turns;
  const float z = angle.r * angle.r;
  const float value = (quarter & 1) != 0 ? CosNear32(angle, z) : SinNear32(angle, z);
  return OfBits32(BitsOf32(value) ^ (quarter & 2) << 30);
}
CW_INLINE float Sin32(float x) { return x == 0 ? x : SinOfQuarters32(x, 0); }
CW_INLINE float Cos32(float x) { return SinOfQuarters32(x, 1); }
// n / d of sums of two parts, the second ones small.
CW_INLINE float Quotient32(float n, float n_low, float d, float d_low) {
  const float inverse = 1 / d, quotient = n * inverse;
  return Fma(Fma(-quotient, d, n) + Fma(-quotient, d_low, n_low), inverse, quotient);
}
CW_INLINE float Tan32(float x) {
  const Angle32 angle = Reduce32(x);
  const float r = angle.r, z = r * r, near = Fma(-0.5f, z, 1);
  const float sine_low = Fma(r * z, Polynomial(kSin32, z), angle.rest);
  const float lost = Fma(-0.5f, z, 1 - near);
  const float cosine_low = Fma(z * z, Polynomial(kCos32, z), Fma(-r, angle.rest, lost));
  const float sine = r + sine_low, sine_rest = (r - sine) + sine_low;
  const float cosine = near + cosine_low, cosine_rest = (near - cosine) + cosine_low;
  const bool odd = (angle.quarter & 1) != 0;
  const float found = Quotient32(odd ? -cosine : sine, odd ? -cosine_rest : sine_rest,
                                 odd ? sine : cosine, odd ? sine_rest : cosine_rest);
  return x == 0 ? x : found;
}

// (tanh(x) / x - 1) / x^2 of x^2, x^2 <= 0.82, within 6.2e-09.
constexpr float kTanh32[] = {-0x1.555554p-2f, 0x1.1110aap-3f, -0x1.b9fbf6p-5f, 0x1.646f8ap-6f,
                             -0x1.148d1ep-7f, 0x1.67e55cp-9f, -0x1.0db758p-11f};
CW_INLINE float Tanh32(float x) {
  const float size = Clamp32(__builtin_fabsf(x), 0, 10), z = size * size;
  const float near = Fma(size * z, Polynomial(kTanh32, z), size);
  const Exponential32 e = SplitExp32(2 * size);
  const float far = 1 - 2 / Fma(1 + (e.r + e.rest), PowerOfTwo32(e.k), 1);
  return WithSign(size < 0.9f ? near : far, x);
}

// (atan(x) / x - 1) / x^2 of x^2, x^2 <= 1, within 3e-9.
constexpr float kAtan32[] = {-0x1.555556p-2f, 0x1.999956p-3f,  -0x1.248952p-3f, 0x1.c62ce0p-4f,
                             -0x1.6dd8fep-4f, 0x1.2006f8p-4f,  -0x1.9115a4p-5f, 0x1.aefb2cp-6f,
                             -0x1.2ba6b6p-7f, 0x1.86406cp-10f};
CW_INLINE float Atan32(float x) {
  const float absolute = __builtin_fabsf(x), size = absolute > 0x1p30f ? 0x1p30f : absolute;
  const bool far = size > 1;
  // Of a large x the quotient's error counts.
  const float inverse = -1 / size, t = far ? inverse : size, z = t * t;
  const float quarter = far ? 0x1.921fb6p0f : 0;
  const float low = far ? Fma(Fma(inverse, size, 1), 0.5f * inverse, -0x1.777a5cp-25f) : 0;
  const float sum = quarter + t, lost = (quarter - sum) + t;
  const float found = sum + Fma(t * z, Polynomial(kAtan32, z), lost + low);
  return WithSign(found, x);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_BINARY32_H_
