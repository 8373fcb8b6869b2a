// Tables prepared for the transforms.
#ifndef CLOAKWORK_KERNELS_NTT_DERIVED_H_
#define CLOAKWORK_KERNELS_NTT_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_ntt_scratch_bytes(const cw_launch* launch);
uint64_t cw_ntt_prepared_bytes(const cw_launch* launch);
void cw_ntt_prepare_i32(const cw_launch* launch, void* prepared);
void cw_ntt_prepare_i64(const cw_launch* launch, void* prepared);
void cw_intt_prepare_i32(const cw_launch* launch, void* prepared);
void cw_intt_prepare_i64(const cw_launch* launch, void* prepared);
}

namespace cw {
namespace {

// q, psi, perm; for the inverse also n_inv.
constexpr uint32_t kNttTables = 1u << 2 | 1u << 3 | 1u << 4;
constexpr Derived kNttI32 = {kNttTables, cw_ntt_scratch_bytes, cw_ntt_prepared_bytes,
                             cw_ntt_prepare_i32};
constexpr Derived kNttI64 = {kNttTables, cw_ntt_scratch_bytes, cw_ntt_prepared_bytes,
                             cw_ntt_prepare_i64};
constexpr Derived kInttI32 = {kNttTables | 1u << 5, cw_ntt_scratch_bytes, cw_ntt_prepared_bytes,
                              cw_intt_prepare_i32};
constexpr Derived kInttI64 = {kNttTables | 1u << 5, cw_ntt_scratch_bytes, cw_ntt_prepared_bytes,
                              cw_intt_prepare_i64};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_DERIVED_H_
