// Barrett constants and inverse permutations, which kernels of this family prepare once.
#include "kernels/modular/arithmetic.h"
#include "kernels/modular/axis_sum_plan.h"
#include "kernels/modular/derived.h"

namespace cw {
namespace {

u64 ModuliBytes(const cw_launch& launch, u32 operand) {
  i64 strides[kMaxRank];
  return ModulusStrides(launch, operand, strides) * sizeof(Modulus);
}

template <class T>
void PrepareModuli(const cw_launch& launch, u32 operand, void* prepared) {
  auto* list = static_cast<Modulus*>(prepared);
  ForEachModulus<T>(launch, operand, [&](u64 i, i64 word) { list[i] = MakeModulus(word); });
}

template <class T>
void PrepareAxisSum(const cw_launch& launch, void* prepared) {
  const AxisSumPlan plan(launch);
  auto* list = plan.Moduli(prepared);
  ForEachModulus<T>(launch, 3, [&](u64 i, i64 word) {
    list[i] = MakeSumModulus(AnyModulus(word));
  });
  const i64* perm = Data<const i64>(launch, 4);
  plan.Header(prepared)->permuted = 0;
  if (perm == nullptr) return;
  u32* inverse = plan.Inverse(prepared);
  // Indices stay in range whatever the list holds: another thread may write it during the call.
  memset(inverse, 0, plan.size * sizeof(u32));
  for (u64 n = 0; n < plan.size; ++n) {
    const i64 target = perm[(i64)n * Strides(launch, 4)[2]];
    if ((u64)target < plan.size) inverse[target] = (u32)n;
    if (target != (i64)n) plan.Header(prepared)->permuted = 1;
  }
}

}  // namespace
}  // namespace cw

extern "C" {
uint64_t cw_moduli_bytes_2(const cw_launch* l) { return cw::ModuliBytes(*l, 2); }
uint64_t cw_moduli_bytes_3(const cw_launch* l) { return cw::ModuliBytes(*l, 3); }
uint64_t cw_moduli_bytes_4(const cw_launch* l) { return cw::ModuliBytes(*l, 4); }
void cw_moduli_prepare_2_i32(const cw_launch* l, void* p) { cw::PrepareModuli<int32_t>(*l, 2, p); }
void cw_moduli_prepare_2_i64(const cw_launch* l, void* p) { cw::PrepareModuli<int64_t>(*l, 2, p); }
void cw_moduli_prepare_3_i32(const cw_launch* l, void* p) { cw::PrepareModuli<int32_t>(*l, 3, p); }
void cw_moduli_prepare_3_i64(const cw_launch* l, void* p) { cw::PrepareModuli<int64_t>(*l, 3, p); }
void cw_moduli_prepare_4_i32(const cw_launch* l, void* p) { cw::PrepareModuli<int32_t>(*l, 4, p); }
void cw_moduli_prepare_4_i64(const cw_launch* l, void* p) { cw::PrepareModuli<int64_t>(*l, 4, p); }

uint64_t cw_axis_sum_prepared_bytes(const cw_launch* l) { return cw::AxisSumPlan(*l).bytes; }
uint64_t cw_axis_sum_scratch_bytes(const cw_launch*) { return cw::kAxisSumScratchBytes; }
void cw_axis_sum_prepare_i32(const cw_launch* l, void* p) { cw::PrepareAxisSum<int32_t>(*l, p); }
void cw_axis_sum_prepare_i64(const cw_launch* l, void* p) { cw::PrepareAxisSum<int64_t>(*l, p); }
}
