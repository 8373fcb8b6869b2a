// The layout of base_convert's prepared constants.
#ifndef CLOAKWORK_KERNELS_RNS_BASE_PLAN_H_
#define CLOAKWORK_KERNELS_RNS_BASE_PLAN_H_

#include "kernels/modular/ops.h"
#include "kernels/modular/sum_modulus.h"

namespace cw {
namespace {

// Operands of a launch.
enum BaseOperand : u32 { kBaseQ = 2, kBaseFactor, kBaseHalf, kBaseHat, kBaseP };

// narrow: all moduli are below 2^50. few: also, the product of all q is below 2^52, and there are
// at most kSumTerms of them. scaled: some factor is not 1.
struct BaseHeader {
  u64 narrow, few, scaled;
};

// factor and half in [0, q); factor_shoup = floor(factor * 2^64 / q).
struct BaseInput {
  Modulus m;
  u64 factor, factor_shoup, half;
};

// start = -sum_i half_i * hat_ij mod p: the initial value of a sum, as y_i stands for y_i - half_i.
struct BaseOutput {
  SumModulus m;
  Modulus one;
  u64 start;
};

// A BaseHeader, [inputs] BaseInput, [outputs] BaseOutput, [outputs][inputs] hat mod p.
struct BasePlan {
  u64 inputs, outputs;
  u64 outputs_at, hat_at;  // byte offsets
  u64 bytes;

  // Axes: rows..., i, j.
  explicit BasePlan(const cw_launch& launch)
      : inputs(Dim(launch, launch.rank - 2)), outputs(Dim(launch, launch.rank - 1)) {
    outputs_at = RoundUp(sizeof(BaseHeader) + inputs * sizeof(BaseInput));
    hat_at = outputs_at + RoundUp(outputs * sizeof(BaseOutput));
    bytes = hat_at + inputs * outputs * sizeof(u64);
  }
  template <class T>
  static T* At(void* prepared, u64 offset) {
    return reinterpret_cast<T*>(static_cast<char*>(prepared) + offset);
  }
  static BaseHeader* Header(void* prepared) { return At<BaseHeader>(prepared, 0); }
  static BaseInput* Inputs(void* prepared) { return At<BaseInput>(prepared, sizeof(BaseHeader)); }
  BaseOutput* Outputs(void* prepared) const { return At<BaseOutput>(prepared, outputs_at); }
  // The weights of output j.
  u64* Hat(void* prepared, u64 j) const { return At<u64>(prepared, hat_at) + j * inputs; }

  // Coefficients of a block: their digits y stay in the first-level cache.
  u64 Block() const {
    constexpr u64 kDigits = 2048;
    return inputs <= 8 ? 256 : inputs >= 64 ? 32 : kDigits / inputs / 32 * 32;
  }
  u64 ScratchBytes() const { return Block() * inputs * sizeof(u64); }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_RNS_BASE_PLAN_H_
