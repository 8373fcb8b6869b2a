// Blocks prepared for the transforms.
#ifndef CLOAKWORK_KERNELS_NTT_DERIVED_H_
#define CLOAKWORK_KERNELS_NTT_DERIVED_H_

#include "kernels/derived.h"

#define CW_NTT_PREPARES(isa)                                             \
  void cw_ntt_prepare_i32_##isa(const cw_launch* launch, void* prepared);  \
  void cw_ntt_prepare_i64_##isa(const cw_launch* launch, void* prepared);

extern "C" {
uint64_t cw_ntt_scratch_bytes(const cw_launch* launch);
uint64_t cw_ntt_prepared_bytes(const cw_launch* launch);
CW_NTT_PREPARES(portable)
CW_NTT_PREPARES(avx2)
CW_NTT_PREPARES(avx512)
CW_NTT_PREPARES(avx512ifma)
}
#undef CW_NTT_PREPARES

namespace cw {
namespace {

// q, the table of twiddles, perm; n_inv is read when a row is transformed.
constexpr uint32_t kNttTables = 1u << 2 | 1u << 3 | 1u << 4;
// Constants are apart along k, axis 2.
constexpr uint32_t kNttLimbs = 1 + 2;

#define CW_NTT_DERIVED(type)           \
  {kNttTables,                         \
   cw_ntt_scratch_bytes,               \
   cw_ntt_prepared_bytes,              \
   cw_ntt_prepare_##type##_portable,   \
   kNttLimbs,                          \
   cw_ntt_prepare_##type##_avx2,       \
   cw_ntt_prepare_##type##_avx512,     \
   cw_ntt_prepare_##type##_avx512ifma}
constexpr Derived kNttI32 = CW_NTT_DERIVED(i32);
constexpr Derived kNttI64 = CW_NTT_DERIVED(i64);
#undef CW_NTT_DERIVED

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_DERIVED_H_
