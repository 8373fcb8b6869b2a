// Inverses of lanes: one inversion of a scalar for all.
#ifndef CLOAKWORK_KERNELS_CURVE_INVERSE_H_
#define CLOAKWORK_KERNELS_CURVE_INVERSE_H_

#include "kernels/curve/lanes.h"

namespace cw {
namespace {

// 1 / a in every lane, settled; no lane is 0.
template <class V>
__attribute__((noinline)) V InverseLanes(const V& a) {
  using F = typename V::Scalar;
  constexpr int lanes = V::kLanes;
  F value[lanes], before[lanes];
  ToScalars(a, value);
  before[0] = value[0];
  for (int i = 1; i < lanes; ++i) before[i] = Times(before[i - 1], value[i]);
  F inverse = Inverse(before[lanes - 1]);
  for (int i = lanes; i-- > 1;) {
    const F own = Times(inverse, before[i - 1]);
    inverse = Times(inverse, value[i]);
    value[i] = own;
  }
  value[0] = inverse;
  return FromScalars(value, static_cast<const V*>(nullptr));
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_INVERSE_H_
