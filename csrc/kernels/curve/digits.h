// Signed digits of scalars.
#ifndef CLOAKWORK_KERNELS_CURVE_DIGITS_H_
#define CLOAKWORK_KERNELS_CURVE_DIGITS_H_

#include "kernels/curve/msm_shape.h"
#include "kernels/field/elements.h"
#include "kernels/rows.h"

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

CW_INLINE bool AnyWord(const u64* words, u64 count) {
  u64 bits = 0;
  for (u64 i = 0; i < count; ++i) bits |= words[i];
  return bits != 0;
}

// The scalars of a unit of msm_digits. dims: rows..., blocks, weight.
template <class Scalar>
struct UnitOfDigits {
  const MsmDigitsShape& shape;
  int16_t* out;
  const Scalar* scalars;
  const u64* bases;
  u64 count;

  UnitOfDigits(const cw_launch& launch, const MsmDigitsShape& shape_, u64 unit) : shape(shape_) {
    const u32 rank = launch.rank - 1;
    const auto place = [&](u32 operand) {
      return OffsetAt(unit, rank, launch.dims, Strides(launch, operand));
    };
    out = Data<int16_t>(launch, 0) + place(0);
    scalars = Data<const Scalar>(launch, 1) + place(1);
    bases = Data<const u64>(launch, 2) + place(2) * (i64)shape.base_words;
    count = Min(shape.block, shape.count - unit % Dim(launch, rank - 1) * shape.block);
  }

  // Digits of points at infinity are 0.
  CW_INLINE void Write(u64 i) const {
    Words<4> scalar = {};
    const u64* base = bases + (i64)i * shape.base_step * (i64)shape.base_words;
    const bool finite = AnyWord(base, shape.base_words);
    if (finite) scalar = ToCanonical(scalars[(i64)i * shape.scalar_step]);
    SignedDigits(scalar, shape.window_bits, shape.windows, out + i, shape.count);
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_DIGITS_H_
