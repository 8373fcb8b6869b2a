// Constants prepared for the decomposition over all moduli.
#ifndef CLOAKWORK_KERNELS_GADGET_DERIVED_H_
#define CLOAKWORK_KERNELS_GADGET_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_crt_scratch_bytes(const cw_launch* launch);
uint64_t cw_crt_prepared_bytes(const cw_launch* launch);
void cw_crt_prepare_i32(const cw_launch* launch, void* prepared);
void cw_crt_prepare_i64(const cw_launch* launch, void* prepared);
}

namespace cw {
namespace {

constexpr Derived kCrtI32 = {1u << 2, cw_crt_scratch_bytes, cw_crt_prepared_bytes,
                             cw_crt_prepare_i32};
constexpr Derived kCrtI64 = {1u << 2, cw_crt_scratch_bytes, cw_crt_prepared_bytes,
                             cw_crt_prepare_i64};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_GADGET_DERIVED_H_
