// Twiddles with their Shoup companions, and the permutation as 32-bit indices.
#include "kernels/ntt/derived.h"
#include "kernels/ntt/ntt_plan.h"

namespace cw {
namespace {

constexpr u32 kLimbAxis = 2, kSizeAxis = 3;

template <class T>
u64 WordAt(const cw_launch& launch, u32 operand, u64 limb, u64 i) {
  const i64* strides = Strides(launch, operand);
  const i64 offset = (i64)limb * strides[kLimbAxis] + (i64)i * strides[kSizeAxis];
  return (u64)(i64)Data<const T>(launch, operand)[offset];
}

template <class T>
void PrepareNtt(const cw_launch& launch, void* prepared, bool inverse) {
  const NttPlan plan(launch);
  auto* moduli = NttPlan::At<NttModulus>(prepared, 0);
  auto* values = NttPlan::At<u64>(prepared, plan.tables);
  u64* shoup = values + plan.limbs * plan.size;
  for (u64 limb = 0; limb < plan.limbs; ++limb) {
    const u64 q = WordAt<T>(launch, 2, limb, 0);
    u64 scale = 0;
    if (inverse) scale = CanonicalRemainder((i64)WordAt<T>(launch, 5, limb, 0), q);
    moduli[limb] = {q, scale, ShoupOf(scale, q), 0};
    for (u64 i = 0; i < plan.size; ++i) {
      const u64 w = CanonicalRemainder((i64)WordAt<T>(launch, 3, limb, i), q);
      values[limb * plan.size + i] = w;
      shoup[limb * plan.size + i] = ShoupOf(w, q);
    }
  }
  if (launch.data[4] == nullptr) return;
  auto* permutation = NttPlan::At<u32>(prepared, plan.permutation);
  for (u64 i = 0; i < plan.size; ++i) permutation[i] = (u32)WordAt<i64>(launch, 4, 0, i);
}

}  // namespace
}  // namespace cw

extern "C" {
uint64_t cw_ntt_prepared_bytes(const cw_launch* l) { return cw::NttPlan(*l).bytes; }
// One row.
uint64_t cw_ntt_scratch_bytes(const cw_launch* l) { return l->dims[3] * sizeof(uint64_t); }
void cw_ntt_prepare_i32(const cw_launch* l, void* p) { cw::PrepareNtt<int32_t>(*l, p, false); }
void cw_ntt_prepare_i64(const cw_launch* l, void* p) { cw::PrepareNtt<int64_t>(*l, p, false); }
void cw_intt_prepare_i32(const cw_launch* l, void* p) { cw::PrepareNtt<int32_t>(*l, p, true); }
void cw_intt_prepare_i64(const cw_launch* l, void* p) { cw::PrepareNtt<int64_t>(*l, p, true); }
}
