// philox_uniform and philox_normal: numbers from a counter, so that each depends on its position
// alone. Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). For statistics, not for secrets.
#ifndef CLOAKWORK_KERNELS_CREATION_PHILOX_H_
#define CLOAKWORK_KERNELS_CREATION_PHILOX_H_

#include <math.h>

#include "kernels/rows.h"

namespace cw {
namespace {

constexpr u32 kPhiloxRounds = 10;
// Counters encrypted together; each gives 16 bytes.
constexpr u64 kCounters = 64;

// Four words for each of kCounters counters (first + i, high): word w of counter i in words[w][i].
CW_INLINE void Philox(u64 key, u64 high, u64 first, u32 (&words)[4][kCounters]) {
  for (u64 i = 0; i < kCounters; ++i) {
    u32 a = (u32)(first + i), b = (u32)((first + i) >> 32), c = (u32)high, d = (u32)(high >> 32);
    u32 left = (u32)key, right = (u32)(key >> 32);
#pragma GCC unroll 10
    for (u32 round = 0; round < kPhiloxRounds; ++round) {
      const u64 product_a = (u64)a * 0xd2511f53u, product_c = (u64)c * 0xcd9e8d57u;
      a = (u32)(product_c >> 32) ^ b ^ left;
      b = (u32)product_c;
      c = (u32)(product_a >> 32) ^ d ^ right;
      d = (u32)product_a;
      left += 0x9e3779b9u;
      right += 0xbb67ae85u;
    }
    words[0][i] = a;
    words[1][i] = b;
    words[2][i] = c;
    words[3][i] = d;
  }
}

// Converts a counter's words to kPerCounter numbers, stored one after another.
template <class T>
struct Uniform;
template <>
struct Uniform<float> {
  static constexpr u64 kPerCounter = 4;
  // 24 bits: every value is a multiple of 2^-24 below 1.
  static CW_INLINE void Make(const u32 (&words)[4][kCounters], float* out) {
    for (u64 i = 0; i < kCounters; ++i) {
      for (u64 w = 0; w < 4; ++w) out[4 * i + w] = (float)(int)(words[w][i] >> 8) * 0x1p-24f;
    }
  }
};

// 53 bits: the first 27 of one word, the first 26 of the other.
CW_INLINE double UnitDouble(u32 high, u32 low) {
  return ((double)(int)(high >> 5) * 0x1p26 + (double)(int)(low >> 6)) * 0x1p-53;
}

template <>
struct Uniform<double> {
  static constexpr u64 kPerCounter = 2;
  static CW_INLINE void Make(const u32 (&words)[4][kCounters], double* out) {
    for (u64 i = 0; i < kCounters; ++i) {
      out[2 * i] = UnitDouble(words[0][i], words[1][i]);
      out[2 * i + 1] = UnitDouble(words[2][i], words[3][i]);
    }
  }
};

// The natural logarithm of x in [2^-64, 1]: x = 2^e m, m in [sqrt(1/2), sqrt(2)), and
// ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.1716. The series ends below 2^-56.
CW_INLINE double Logarithm(double x) {
  u64 bits;
  memcpy(&bits, &x, sizeof bits);
  const u64 shifted = bits - 0x3fe6a09e667f3bcdu;  // the bits of sqrt(1/2)
  const int exponent = (int)((i64)shifted >> 52);
  bits -= (u64)(i64)exponent << 52;
  double m;
  memcpy(&m, &bits, sizeof m);
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 21;
  series = series * z + 1.0 / 19;
  series = series * z + 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  return (double)exponent * 0x1.62e42fefa39efp-1 + (2 * s + 2 * s * z * series);
}

// sin x and cos x for |x| <= pi / 4, by Taylor's series to x^17 and x^16.
CW_INLINE double Sine(double x) {
  const double z = x * x;
  double series = 1.0 / 355687428096000;
  series = series * z - 1.0 / 1307674368000;
  series = series * z + 1.0 / 6227020800;
  series = series * z - 1.0 / 39916800;
  series = series * z + 1.0 / 362880;
  series = series * z - 1.0 / 5040;
  series = series * z + 1.0 / 120;
  series = series * z - 1.0 / 6;
  return x + x * z * series;
}

CW_INLINE double Cosine(double x) {
  const double z = x * x;
  double series = 1.0 / 20922789888000;
  series = series * z - 1.0 / 87178291200;
  series = series * z + 1.0 / 479001600;
  series = series * z - 1.0 / 3628800;
  series = series * z + 1.0 / 40320;
  series = series * z - 1.0 / 720;
  series = series * z + 1.0 / 24;
  series = series * z - 1.0 / 2;
  return 1 + z * series;
}

struct NormalPair {
  double first, second;
};

// Box and Muller: two normal numbers from u in (0, 1] and a part v of the full angle in [0, 1).
CW_INLINE NormalPair MakeNormals(double u, double v) {
  const double radius = sqrt(-2 * Logarithm(u));
  const int quarter = (int)(4 * v + 0.5);  // 0 .. 4, and the rest in [-1/8, 1/8]
  const double x = (v - 0.25 * (double)quarter) * 0x1.921fb54442d18p+2;
  const double sine = Sine(x), cosine = Cosine(x);
  const bool swapped = (quarter & 1) != 0;
  const double across = swapped ? sine : cosine, up = swapped ? cosine : sine;
  const bool left = quarter == 1 || quarter == 2, below = quarter == 2 || quarter == 3;
  return {radius * (left ? -across : across), radius * (below ? -up : up)};
}

template <class T>
struct Normal;
template <>
struct Normal<float> {
  static constexpr u64 kPerCounter = 4;
  // u has 32 bits and is never 0: numbers reach 6.7 standard deviations.
  static CW_INLINE void Make(const u32 (&words)[4][kCounters], float* out) {
    for (u64 i = 0; i < kCounters; ++i) {
      for (u64 w = 0; w < 4; w += 2) {
        const double u = ((double)words[w][i] + 0.5) * 0x1p-32;
        const NormalPair pair = MakeNormals(u, (double)words[w + 1][i] * 0x1p-32);
        out[4 * i + w] = (float)pair.first;
        out[4 * i + w + 1] = (float)pair.second;
      }
    }
  }
};

template <>
struct Normal<double> {
  static constexpr u64 kPerCounter = 2;
  // u is a multiple of 2^-53 above 0: numbers reach 8.5 standard deviations.
  static CW_INLINE void Make(const u32 (&words)[4][kCounters], double* out) {
    for (u64 i = 0; i < kCounters; ++i) {
      const double u = UnitDouble(words[0][i], words[1][i]) + 0x1p-53;
      const NormalPair pair = MakeNormals(u, UnitDouble(words[2][i], words[3][i]));
      out[2 * i] = pair.first;
      out[2 * i + 1] = pair.second;
    }
  }
};

// Operands: out, key (two words, params[0] words apart: the key, the upper half of every counter).
// Number i of the launch is number i mod kPerCounter of counter i / kPerCounter.
template <class Out, class Maker>
CW_INLINE void Generate(const cw_launch& launch, u64 begin, u64 end) {
  constexpr u64 size = kCounters * Maker::kPerCounter;
  const u64* words_of_key = Data<const u64>(launch, 1);
  const u64 key = words_of_key[0], high = words_of_key[launch.params[0]];
  Rows<1> rows(launch.rank, launch.dims, {Strides(launch, 0)});
  u32 words[4][kCounters];
  Out made[size], block[kBlock];
  u64 next = begin, stop = 0;  // numbers next .. stop are computed, the last of them last
  ForEachBlock(rows, begin, end, [&](u64 position, u64 count) {
    for (u64 done = 0; done < count;) {
      if (next >= stop) {
        const u64 first = next / Maker::kPerCounter;
        Philox(key, high, first, words);
        Maker::Make(words, made);
        stop = first * Maker::kPerCounter + size;
      }
      const u64 run = Min(stop - next, count - done);
      memcpy(block + done, made + (size - (stop - next)), run * sizeof(Out));
      next += run;
      done += run;
    }
    Out* out = OpenBlock(rows, 0, Data<Out>(launch, 0), position, block);
    if (out != block) memcpy(out, block, count * sizeof(Out));
    FlushBlock(rows, 0, Data<Out>(launch, 0), position, count, block);
  });
}

template <class V, class In, class Out>
void PhiloxUniform(const cw_launch& launch, u64 begin, u64 end, void*) {
  Generate<Out, Uniform<Out>>(launch, begin, end);
}

template <class V, class In, class Out>
void PhiloxNormal(const cw_launch& launch, u64 begin, u64 end, void*) {
  Generate<Out, Normal<Out>>(launch, begin, end);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CREATION_PHILOX_H_
