// Moduli prepared for the kernels of this family, and for others that reduce.
#ifndef CLOAKWORK_KERNELS_MODULAR_DERIVED_H_
#define CLOAKWORK_KERNELS_MODULAR_DERIVED_H_

#include "kernels/derived.h"

// A list of Modulus, from operand 2, 3 or 4 of the launch.
extern "C" {
uint64_t cw_moduli_bytes_2(const cw_launch* launch);
uint64_t cw_moduli_bytes_3(const cw_launch* launch);
uint64_t cw_moduli_bytes_4(const cw_launch* launch);
void cw_moduli_prepare_2_i32(const cw_launch* launch, void* prepared);
void cw_moduli_prepare_2_i64(const cw_launch* launch, void* prepared);
void cw_moduli_prepare_3_i32(const cw_launch* launch, void* prepared);
void cw_moduli_prepare_3_i64(const cw_launch* launch, void* prepared);
void cw_moduli_prepare_4_i32(const cw_launch* launch, void* prepared);
void cw_moduli_prepare_4_i64(const cw_launch* launch, void* prepared);

uint64_t cw_axis_sum_prepared_bytes(const cw_launch* launch);
uint64_t cw_axis_sum_scratch_bytes(const cw_launch* launch);
void cw_axis_sum_prepare_i32(const cw_launch* launch, void* prepared);
void cw_axis_sum_prepare_i64(const cw_launch* launch, void* prepared);
}

namespace cw {
namespace {

constexpr Derived kModuli2I32 = {1u << 2, nullptr, cw_moduli_bytes_2, cw_moduli_prepare_2_i32};
constexpr Derived kModuli2I64 = {1u << 2, nullptr, cw_moduli_bytes_2, cw_moduli_prepare_2_i64};
constexpr Derived kModuli3I32 = {1u << 3, nullptr, cw_moduli_bytes_3, cw_moduli_prepare_3_i32};
constexpr Derived kModuli3I64 = {1u << 3, nullptr, cw_moduli_bytes_3, cw_moduli_prepare_3_i64};
constexpr Derived kModuli4I32 = {1u << 4, nullptr, cw_moduli_bytes_4, cw_moduli_prepare_4_i32};
constexpr Derived kModuli4I64 = {1u << 4, nullptr, cw_moduli_bytes_4, cw_moduli_prepare_4_i64};
// q and perm.
constexpr Derived kAxisSumI32 = {1u << 3 | 1u << 4, cw_axis_sum_scratch_bytes,
                                 cw_axis_sum_prepared_bytes, cw_axis_sum_prepare_i32};
constexpr Derived kAxisSumI64 = {1u << 3 | 1u << 4, cw_axis_sum_scratch_bytes,
                                 cw_axis_sum_prepared_bytes, cw_axis_sum_prepare_i64};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_DERIVED_H_
