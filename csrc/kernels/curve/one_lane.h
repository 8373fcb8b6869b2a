// One element of a field: the lane of instruction sets without 52-bit multiply-add. lanes.h defines
// each function; elements are always reduced.
#ifndef CLOAKWORK_KERNELS_CURVE_ONE_LANE_H_
#define CLOAKWORK_KERNELS_CURVE_ONE_LANE_H_

#include "kernels/curve/points.h"

namespace cw {
namespace {

template <class F>
struct OneLane {
  using Scalar = F;
  static constexpr int kLanes = 1;
  static constexpr int kWords = sizeof(F) / 8;
  static constexpr u64 kFresh = 1;
  F value;
};

template <class F>
CW_INLINE OneLane<F> GatherFresh(const u64* const* at, const OneLane<F>*) {
  OneLane<F> r;
  memcpy(&r.value, at[0], sizeof(F));
  return r;
}
template <class F>
CW_INLINE OneLane<F> GatherKept(const u64* const* at, const OneLane<F>*) {
  OneLane<F> r;
  memcpy(&r.value, at[0], sizeof(F));
  return r;
}
template <class F>
CW_INLINE void Keep(const OneLane<F>& a, u64* const* at) {
  memcpy(at[0], &a.value, sizeof(F));
}
template <class F>
CW_INLINE OneLane<F> FromScalars(const F* values, const OneLane<F>*) {
  return {values[0]};
}
template <class F>
CW_INLINE void ToScalars(const OneLane<F>& a, F* values) {
  values[0] = a.value;
}
template <u64 k, class F>
CW_INLINE OneLane<F> Mul(const OneLane<F>& a, const OneLane<F>& b) {
  return {Times(a.value, b.value)};
}
template <u64 k, class F>
CW_INLINE OneLane<F> Square(const OneLane<F>& a) {
  return {Squared(a.value)};
}
template <class F>
CW_INLINE OneLane<F> AddLoose(const OneLane<F>& a, const OneLane<F>& b) {
  return {Add(a.value, b.value)};
}
template <u64 k, class F>
CW_INLINE OneLane<F> SubLoose(const OneLane<F>& a, const OneLane<F>& b) {
  return {Sub(a.value, b.value)};
}
template <class F>
CW_INLINE OneLane<F> Tighten(const OneLane<F>& a) {
  return a;
}
template <class F>
CW_INLINE OneLane<F> Settle(const OneLane<F>& a) {
  return a;
}
template <class F>
CW_INLINE OneLane<F> SelectLanes(u32 mask, const OneLane<F>& a, const OneLane<F>& b) {
  return mask != 0 ? b : a;
}
template <class F>
CW_INLINE u32 ZeroLanes(const OneLane<F>& product) {
  return IsZero(product.value) ? 1 : 0;
}

template <class F>
CW_INLINE bool MayHaveZero(const OneLane<F>& product) {
  return IsZero(product.value);
}

template <class F>
CW_INLINE OneLane<F> NegateLoose(u32 mask, const OneLane<F>& a) {
  return mask != 0 ? OneLane<F>{Neg(a.value)} : a;
}
template <class F>
CW_INLINE u32 AllZeroBits(const OneLane<F>& a) {
  return IsZero(a.value) ? 1 : 0;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_CURVE_ONE_LANE_H_
