// sqrt(a^2 + b^2) without overflow or loss of small numbers, in plain arithmetic that the compiler
// turns into vectors, with the same bits on every instruction set.
//
// C. Borges, An Improved Algorithm for hypot(a, b) (2019), arXiv:1904.09481, without fused
// multiply-adds: less than one unit in the last place.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_MAGNITUDE_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_MAGNITUDE_H_

#include "kernels/rows.h"

namespace cw {
namespace {

// Squares of binary32 are exact in binary64, and neither overflow nor vanish.
CW_INLINE float Hypot(float a, float b) {
  const double x = a, y = b;
  const float size = (float)__builtin_sqrt(x * x + y * y);
  const float infinity = __builtin_inff();
  const bool infinite = __builtin_fabsf(a) == infinity || __builtin_fabsf(b) == infinity;
  return infinite ? infinity : size;  // also beside NaN
}

CW_INLINE double Hypot(double a, double b) {
  const double infinity = __builtin_inf();
  const double x = __builtin_fabs(a), y = __builtin_fabs(b);
  const double large = x > y ? x : y, small = x > y ? y : x;
  // The larger one comes between 1 and 4, or is subnormal times 2^1022.
  u64 bits;
  memcpy(&bits, &large, sizeof bits);
  const u64 exponent = bits >> 52 & 0x7ff;
  const u64 up = exponent < 2 ? 2045 : exponent > 2044 ? 1 : 2046 - exponent;
  const u64 scale_bits = up << 52, back_bits = (2046 - up) << 52;
  double scale, back;
  memcpy(&scale, &scale_bits, sizeof scale);
  memcpy(&back, &back_bits, sizeof back);
  const double u = large * scale, v = small * scale;
  const double root = __builtin_sqrt(u * u + v * v);
  // What the rounding of the squares, of their sum and of the root lost.
  const bool alike = root <= 2 * v;
  const double delta = root - (alike ? v : u);
  const double first = alike ? u * (2 * delta - u) : 2 * delta * (u - 2 * v);
  const double second =
      alike ? (delta - 2 * (u - v)) * delta : (4 * delta - v) * v + delta * delta;
  // A few bits of it are enough.
  const float correction = (float)(first + second) / (float)(2 * root);
  const double size = (root - correction) * back;
  const double found = x + y == 0 ? 0 : size;  // not beside NaN
  return x == infinity || y == infinity ? infinity : found;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_MAGNITUDE_H_
