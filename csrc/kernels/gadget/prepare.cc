// Inverses between moduli.
#include "kernels/gadget/crt_plan.h"
#include "kernels/gadget/derived.h"

namespace cw {
namespace {

// x^-1 mod q by the extended Euclidean algorithm; any word below q if there is no inverse.
u64 InverseMod(u64 x, u64 q) {
  i64 r0 = (i64)q, r1 = (i64)(x % q), t0 = 0, t1 = 1;
  while (r1 != 0) {
    const i64 quotient = r0 / r1;
    const i64 r2 = r0 - quotient * r1, t2 = t0 - quotient * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  return (u64)(t0 < 0 ? t0 + (i64)q : t0);
}

template <class T>
void PrepareCrt(const cw_launch& launch, void* prepared) {
  const CrtPlan plan(launch);
  auto* moduli = static_cast<CrtModulus*>(prepared);
  auto* inverses = const_cast<CrtInverse*>(plan.Inverses(prepared));
  const T* q_list = Data<const T>(launch, 2);
  for (u64 i = 0; i < plan.limbs; ++i) {
    const u64 q = AnyModulus((i64)q_list[(i64)i * Strides(launch, 2)[2]]);
    moduli[i] = {q, (kModulusLimit + q - 1) / q * q};
    for (u64 j = 0; j < i; ++j) {
      const u64 inverse = InverseMod(moduli[j].q, q);
      inverses[CrtPlan::PairIndex(i, j)] = {inverse, ShoupOf(inverse, q)};
    }
  }
}

}  // namespace
}  // namespace cw

extern "C" {
uint64_t cw_crt_prepared_bytes(const cw_launch* l) { return cw::CrtPlan(*l).bytes; }
uint64_t cw_crt_scratch_bytes(const cw_launch* l) { return cw::CrtPlan(*l).ScratchBytes(); }
void cw_crt_prepare_i32(const cw_launch* l, void* p) { cw::PrepareCrt<int32_t>(*l, p); }
void cw_crt_prepare_i64(const cw_launch* l, void* p) { cw::PrepareCrt<int64_t>(*l, p); }
}
