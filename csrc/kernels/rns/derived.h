// Constants prepared for changes of base.
#ifndef CLOAKWORK_KERNELS_RNS_DERIVED_H_
#define CLOAKWORK_KERNELS_RNS_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_base_scratch_bytes(const cw_launch* launch);
uint64_t cw_base_prepared_bytes(const cw_launch* launch);
void cw_base_prepare_i32(const cw_launch* launch, void* prepared);
void cw_base_prepare_i64(const cw_launch* launch, void* prepared);
}

namespace cw {
namespace {

// q, factor, half, hat and p.
constexpr Derived kBaseI32 = {0x7c, cw_base_scratch_bytes, cw_base_prepared_bytes,
                              cw_base_prepare_i32};
constexpr Derived kBaseI64 = {0x7c, cw_base_scratch_bytes, cw_base_prepared_bytes,
                              cw_base_prepare_i64};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_RNS_DERIVED_H_
