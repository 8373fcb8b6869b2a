// exp, log, sin, cos and functions of them, without branches or tables: plain arithmetic on
// binary64 that the compiler turns into vectors, with the same bits on every instruction set.
//
// Each function brings its argument near 0 (powers of two, quarter turns) and sums the Taylor
// series there. Functions of binary32 are those of binary32.h, but for sinh, cosh and pow, which
// are computed in binary64 with fewer terms and rounded once at the end.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_SERIES_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_SERIES_H_

#include "kernels/elementwise/binary32.h"
#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/types.h"

namespace cw {
namespace {

CW_INLINE u64 BitsOf(double x) {
  u64 bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
CW_INLINE double OfBits(u64 bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// x + kWhole has the integer nearest to x in its low bits, for |x| < 2^51.
constexpr double kWhole = 0x1.8p52;
constexpr double kLog2E = 0x1.71547652b82fep0;
// ln 2 and pi / 2 in parts: products of the leading parts with 20-bit integers are exact.
constexpr double kLn2High = 0x1.62e42fefap-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHalfPi1 = 0x1.921fb544p0, kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;

// The number of terms of a series for a binary32 or a binary64 result.
template <class T>
constexpr bool kDouble = sizeof(T) == 8;

constexpr double InverseFactorial(int n) {
  long double product = 1;
  for (int i = 2; i <= n; ++i) product *= i;
  return (double)(1 / product);
}

// 1/n! + x/(n + step)! + ... up to last!, the signs alternating with a negative x.
template <int n, int step, int last>
CW_INLINE double FactorialSeries(double x) {
  if constexpr (n + step > last) return InverseFactorial(n);
  else return InverseFactorial(n) + x * FactorialSeries<n + step, step, last>(x);
}

// 1/n + x/(n + step) + ... up to 1/last.
template <int n, int step, int last>
CW_INLINE double ReciprocalSeries(double x) {
  if constexpr (n + step > last) return 1.0 / n;
  else return 1.0 / n + x * ReciprocalSeries<n + step, step, last>(x);
}

// Two halves that do not depend on each other.
// 1/2! + x/3! + x^2/4! + ... up to last!, last even.
template <int last>
CW_INLINE double ExpTail(double x) {
  const double z = x * x;
  return FactorialSeries<2, 2, last>(z) + x * FactorialSeries<3, 2, last - 1>(z);
}
// 1/3 + z/5 + z^2/7 + ... up to 1/last, last odd.
template <int last>
CW_INLINE double AtanhTail(double z) {
  const double square = z * z;
  return ReciprocalSeries<3, 4, last>(square) + z * ReciprocalSeries<5, 4, last>(square);
}

// 2^k for an integer k in -1022 .. 1023.
CW_INLINE double PowerOfTwo(double k) { return OfBits((BitsOf(k + kWhole) + 1023) << 52); }

// exp(x) = 2^k (1 + rest), |rest| < 0.42. |x| < 2^19.
struct Exponential {
  double k, rest;
};
template <class T>
CW_INLINE Exponential SplitExp(double x) {
  const double k = (x * kLog2E + kWhole) - kWhole;
  const double high = x - k * kLn2High, low = k * kLn2Low;
  const double r = high - low;
  const double square = r * r * ExpTail<kDouble<T> ? 14 : 8>(r);
  if constexpr (!kDouble<T>) return {k, r + square};
  return {k, r + (square + ((high - r) - low))};  // with the bits that r lost
}

CW_INLINE double Clamp(double x, double low, double high) {
  x = x > high ? high : x;  // NaN stays
  return x < low ? low : x;
}

CW_INLINE double ExpOf(double x) {
  const Exponential e = SplitExp<double>(Clamp(x, -746, 710));
  // In two steps: 2^k alone may be out of range.
  const double half = (e.k * 0.5 + kWhole) - kWhole;
  return (1 + e.rest) * PowerOfTwo(half) * PowerOfTwo(e.k - half);
}
// In binary64, for other functions: |x| < 700.
template <class T>
CW_INLINE double ExpInRange(double x) {
  const Exponential e = SplitExp<T>(x);
  return (1 + e.rest) * PowerOfTwo(e.k);
}
CW_INLINE float ExpOf(float x) { return Exp32(x); }

// exp(x) - 1 for |x| < 700, without loss of bits for small x.
template <class T>
CW_INLINE double Expm1InRange(double x) {
  const Exponential e = SplitExp<T>(x);
  const double scale = PowerOfTwo(e.k);
  return e.rest * scale + (scale - 1);
}

// x = 2^e (1 + f), 1 + f between sqrt(1/2) and sqrt(2). x a normal number.
struct Logarithm {
  double e, f;
};
CW_INLINE Logarithm SplitLog(double x) {
  constexpr u64 kOne = 0x3ff0000000000000, kRootHalf = 0x3fe6a09e667f3bcd;
  const u64 bits = BitsOf(x) + (kOne - kRootHalf);
  const u64 mantissa = (bits & 0x000fffffffffffff) + kRootHalf;
  // 2^52 + biased exponent, as a number.
  const double e = OfBits(0x4330000000000000 | bits >> 52) - (0x1p52 + 1023);
  return {e, OfBits(mantissa) - 1};
}

// The special values of every logarithm.
CW_INLINE double SelectLog(double x, double log) {
  constexpr double kInfinity = __builtin_inf();
  log = x < kInfinity ? log : x;  // infinity and NaN
  log = x == 0 ? -kInfinity : log;
  return x < 0 ? __builtin_nan("") : log;
}

CW_INLINE double LogOf(double x) {
  const bool subnormal = x < 0x1p-1022;
  Logarithm l = SplitLog(subnormal ? x * 0x1p54 : x);
  l.e = subnormal ? l.e - 54 : l.e;
  const double s = l.f / (2 + l.f), z = s * s;
  // f - f^2/2 + s (f^2/2 + ...) is the same series with an exact leading term.
  const double half = 0.5 * l.f * l.f;
  const double tail = s * (half + 2 * z * AtanhTail<21>(z)) + l.e * kLn2Low;
  return SelectLog(x, l.e * kLn2High - ((half - tail) - l.f));
}
CW_INLINE float LogOf(float x) { return Log32(x); }

// x = k pi/2 + r + rest, |r| <= pi/4; quarter is k, its low bits. rest is the rounding error of r.
struct Angle {
  double r, rest;
  u64 quarter;
};
// Larger arguments need more bits of pi.
constexpr double kFarAngle = 1e6;
CW_INLINE Angle Reduce(double x) {
  const double shifted = x * kTwoOverPi + kWhole;
  const double k = shifted - kWhole;
  const double first = x - k * kHalfPi1, second = k * kHalfPi2;
  const double near = first - second, third = k * kHalfPi3, r = near - third;
  return {r, ((first - near) - second) + ((near - r) - third), BitsOf(shifted)};
}
CW_INLINE double SinNear0(Angle angle) {
  const double r = angle.r, z = r * r, cube = r * z * FactorialSeries<3, 2, 19>(-z);
  return r - (cube - angle.rest * (1 - 0.5 * z));
}
CW_INLINE double CosNear0(Angle angle) {
  const double r = angle.r, z = r * r, half = 0.5 * z, near = 1 - half;
  const double fourth = z * z * FactorialSeries<4, 2, 18>(-z);
  // Adds the bits that the subtraction from 1 lost.
  return near + (((1 - near) - half) + (fourth - r * angle.rest));
}

// The sine of x plus `turns` quarter turns.
CW_INLINE double SinOfQuarters(double x, u64 quarters) {
  const Angle angle = Reduce(x);
  const u64 quarter = angle.quarter + quarters;
  const double sine = SinNear0(angle), cosine = CosNear0(angle);
  const double value = (quarter & 1) != 0 ? cosine : sine;
  return OfBits(BitsOf(value) ^ (quarter & 2) << 62);
}
CW_INLINE double SinOf(double x) { return x == 0 ? x : SinOfQuarters(x, 0); }
CW_INLINE double CosOf(double x) { return SinOfQuarters(x, 1); }
CW_INLINE float SinOf(float x) { return Sin32(x); }
CW_INLINE float CosOf(float x) { return Cos32(x); }
CW_INLINE float TanOf(float x) { return Tan32(x); }

// tanh(x) = E / (E + 2), E = exp(2x) - 1; 1 if a double cannot distinguish the result from 1.
CW_INLINE double TanhOf(double x) {
  const double e = Expm1InRange<double>(2 * Clamp(__builtin_fabs(x), 0, 20));
  return __builtin_copysign(e / (e + 2), x);
}
CW_INLINE float TanhOf(float x) { return Tanh32(x); }

// The other functions are for binary32 only, so binary64 has bits to spare.
CW_INLINE float SinhOf(float x) {
  const double e = Expm1InRange<float>(Clamp(__builtin_fabs((double)x), 0, 90));
  return (float)__builtin_copysign(0.5 * (e + e / (e + 1)), (double)x);
}
CW_INLINE float CoshOf(float x) {
  const double e = ExpInRange<float>(Clamp(__builtin_fabs((double)x), 0, 90));
  return (float)(0.5 * (e + 1 / e));
}
// log2(1 + f) / f, 1 + f between sqrt(1/2) and sqrt(2), and 2^r, |r| <= 1/2: within 2^-35 and
// 2^-34, as the largest product of b and log2 a has 7 bits before its point.
constexpr double kLog2Near[] = {
    0x1.71547652a1e8fp0,  -0x1.715476565d543p-1, 0x1.ec709ebb97356p-2,  -0x1.715470976cc64p-2,
    0x1.277651fb5ec52p-2, -0x1.ec72b5a5069b7p-3, 0x1.a63f44918d579p-3,  -0x1.71417019cb771p-3,
    0x1.452916f60ae04p-3, -0x1.252f3c9226a4cp-3, 0x1.2871f0bafe31bp-3, -0x1.2488e679df555p-3,
    0x1.3ce875cbb09d9p-4};
constexpr double kExp2Near[] = {0x1.ffffffffabb69p-1,  0x1.62e42ff1162a0p-1,
                                0x1.ebfbe0a4c09e3p-3,  0x1.c6b08aaf36349p-5,
                                0x1.3b29dc401232fp-7,  0x1.5d8a707a6bf48p-10,
                                0x1.446a203d732d5p-13, 0x1.fe17988364839p-17};
// 2^(b log2 a) for a > 0 and a finite b: the product is clamped where the result is 0 or infinite
// anyway.
CW_INLINE float PowOf(float a, float b) {
  const Logarithm l = SplitLog(a);
  const double x = Clamp(b * Fma(l.f, Polynomial(kLog2Near, l.f), l.e), -160, 130);
  const double k = (x + kWhole) - kWhole;
  return (float)(Polynomial(kExp2Near, x - k) * PowerOfTwo(k));
}

struct ExpSeriesOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return ExpOf(a);
  }
};
struct LogSeriesOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return LogOf(a);
  }
};
struct TanhSeriesOp {
  template <class T>
  static CW_INLINE T Apply(T a) {
    return TanhOf(a);
  }
};
struct Expm1SeriesOp {
  static CW_INLINE float Apply(float a) { return Expm132(a); }
};
struct Log1pSeriesOp {
  static CW_INLINE float Apply(float a) { return Log1p32(a); }
};
struct Log2SeriesOp {
  static CW_INLINE float Apply(float a) { return Log232(a); }
};
struct Log10SeriesOp {
  static CW_INLINE float Apply(float a) { return Log1032(a); }
};
struct AtanSeriesOp {
  static CW_INLINE float Apply(float a) { return Atan32(a); }
};
struct SinhSeriesOp {
  static CW_INLINE float Apply(float a) { return SinhOf(a); }
};
struct CoshSeriesOp {
  static CW_INLINE float Apply(float a) { return CoshOf(a); }
};

CW_UNARY(ExpSeries, AsIs)
CW_UNARY(LogSeries, AsIs)
CW_UNARY(TanhSeries, AsIs)
CW_UNARY(Expm1Series, AsIs)
CW_UNARY(Log1pSeries, AsIs)
CW_UNARY(Log2Series, AsIs)
CW_UNARY(Log10Series, AsIs)
CW_UNARY(AtanSeries, AsIs)
CW_UNARY(SinhSeries, AsIs)
CW_UNARY(CoshSeries, AsIs)

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_SERIES_H_
