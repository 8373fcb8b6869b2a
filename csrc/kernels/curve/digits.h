// Signed digits of scalars.
#ifndef CLOAKWORK_KERNELS_CURVE_DIGITS_H_
#define CLOAKWORK_KERNELS_CURVE_DIGITS_H_

#include "kernels/field/primes.h"

namespace cw {
namespace {

// Digits in [-2^(bits - 1), 2^(bits - 1)) of one scalar, `step` apart: the digits of the scalar
// plus 2^(bits - 1) at every place, each minus that. Windows extend beyond the scalar's bits.
inline void SignedDigits(const Words<4>& scalar, u64 bits, u64 windows, int16_t* out, u64 step) {
  u64 sum[6] = {scalar.word[0], scalar.word[1], scalar.word[2], scalar.word[3]};
  u64 bias[5] = {};
  for (u64 window = 0; window < windows; ++window) {
    const u64 bit = window * bits + bits - 1;
    bias[bit / 64] |= (u64)1 << (bit % 64);
  }
  u64 carry = 0;
  for (int i = 0; i < 5; ++i) {
    const u128 t = (u128)sum[i] + bias[i] + carry;
    sum[i] = (u64)t;
    carry = (u64)(t >> 64);
  }
  for (u64 window = 0; window < windows; ++window) {
    const u64 bit = window * bits, at = bit / 64, offset = bit % 64;
    const u128 pair = (u128)sum[at + 1] << 64 | sum[at];
    const u64 digit = (u64)(pair >> offset) & (((u64)1 << bits) - 1);
    out[window * step] = (int16_t)((i64)digit - ((i64)1 << (bits - 1)));
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_DIGITS_H_
