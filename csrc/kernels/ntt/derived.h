// Blocks prepared for the transforms.
#ifndef CLOAKWORK_KERNELS_NTT_DERIVED_H_
#define CLOAKWORK_KERNELS_NTT_DERIVED_H_

#include "kernels/derived.h"

#define CW_NTT_PREPARES(isa)                                             \
  void cw_ntt_prepare_i32_##isa(const cw_launch* launch, void* prepared);  \
  void cw_ntt_prepare_i64_##isa(const cw_launch* launch, void* prepared);  \
  void cw_intt_prepare_i32_##isa(const cw_launch* launch, void* prepared); \
  void cw_intt_prepare_i64_##isa(const cw_launch* launch, void* prepared);

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

// q, psi, perm; for the inverse also n_inv.
constexpr uint32_t kNttTables = 1u << 2 | 1u << 3 | 1u << 4;
constexpr uint32_t kInttTables = kNttTables | 1u << 5;
// Constants are apart along k, axis 2.
constexpr uint32_t kNttLimbs = 1 + 2;

#define CW_NTT_DERIVED(tables, transform, type)                                                 \
  {tables,                                                                                      \
   cw_ntt_scratch_bytes,                                                                        \
   cw_ntt_prepared_bytes,                                                                       \
   cw_##transform##_prepare_##type##_portable,                                                  \
   kNttLimbs,                                                                                   \
   cw_##transform##_prepare_##type##_avx2,                                                      \
   cw_##transform##_prepare_##type##_avx512,                                                    \
   cw_##transform##_prepare_##type##_avx512ifma}
constexpr Derived kNttI32 = CW_NTT_DERIVED(kNttTables, ntt, i32);
constexpr Derived kNttI64 = CW_NTT_DERIVED(kNttTables, ntt, i64);
constexpr Derived kInttI32 = CW_NTT_DERIVED(kInttTables, intt, i32);
constexpr Derived kInttI64 = CW_NTT_DERIVED(kInttTables, intt, i64);
#undef CW_NTT_DERIVED

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_DERIVED_H_
