// Companions and weights of a change of base.
#include "kernels/rns/base_plan.h"
#include "kernels/rns/derived.h"

namespace cw {
namespace {

template <class T>
void PrepareBase(const cw_launch& launch, void* prepared) {
  const BasePlan plan(launch);
  const u32 i_axis = launch.rank - 2, j_axis = launch.rank - 1;
  const auto word = [&](u32 operand, u64 i, u64 j) -> i64 {
    const i64* strides = Strides(launch, operand);
    return Data<const T>(launch, operand)[(i64)i * strides[i_axis] + (i64)j * strides[j_axis]];
  };
  BaseHeader header = {1, 0, Data<const T>(launch, kBaseFactor) != nullptr};
  u128 all = 0;
  BaseInput* inputs = BasePlan::Inputs(prepared);
  for (u64 i = 0; i < plan.inputs; ++i) {
    const Modulus m = MakeModulus((i64)AnyModulus(word(kBaseQ, i, 0)));
    const i64 given = header.scaled != 0 ? word(kBaseFactor, i, 0) : 1;
    const u64 factor = CanonicalRemainder(given, m.q);
    inputs[i] = {m, factor, ShoupOf(factor, m.q), CanonicalRemainder(word(kBaseHalf, i, 0), m.q)};
    if (m.q >= kNarrowLimit) header.narrow = 0;
    all += m.q;
  }
  for (u64 j = 0; j < plan.outputs; ++j) {
    const u64 p = AnyModulus(word(kBaseP, 0, j));
    u64 start = 0;
    for (u64 i = 0; i < plan.inputs; ++i) {
      const u64 hat = CanonicalRemainder(word(kBaseHat, i, j), p);
      plan.Hat(prepared, j)[i] = hat;
      // No sum leaves 128 bits: |half| <= 2^63 and hat < 2^62.
      start = CanonicalRemainder((i128)start - (i128)word(kBaseHalf, i, 0) * (i64)hat, p);
    }
    plan.Outputs(prepared)[j] = {MakeSumModulus(p), MakeModulus((i64)p), start};
    if (p >= kNarrowLimit) header.narrow = 0;
  }
  header.few = header.narrow != 0 && all <= kMask52 && plan.inputs <= kSumTerms;
  *BasePlan::Header(prepared) = header;
}

}  // namespace
}  // namespace cw

extern "C" {
uint64_t cw_base_prepared_bytes(const cw_launch* l) { return cw::BasePlan(*l).bytes; }
uint64_t cw_base_scratch_bytes(const cw_launch* l) { return cw::BasePlan(*l).ScratchBytes(); }
void cw_base_prepare_i32(const cw_launch* l, void* p) { cw::PrepareBase<int32_t>(*l, p); }
void cw_base_prepare_i64(const cw_launch* l, void* p) { cw::PrepareBase<int64_t>(*l, p); }
}
