// Moduli prepared for uniform_mod, index maps for automorphism.
#ifndef CLOAKWORK_KERNELS_RLWE_DERIVED_H_
#define CLOAKWORK_KERNELS_RLWE_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_uniform_prepared_bytes(const cw_launch* launch);
void cw_uniform_prepare(const cw_launch* launch, void* prepared);
uint64_t cw_index_prepared_bytes(const cw_launch* launch);
void cw_index_prepare(const cw_launch* launch, void* prepared);
}

namespace cw {
namespace {

constexpr Derived kUniform = {1u << 2, nullptr, cw_uniform_prepared_bytes, cw_uniform_prepare};
// The map is the same for every row: separate by the first axis, it serves launches over any rows.
constexpr Derived kIndex = {1u << 2, nullptr, cw_index_prepared_bytes, cw_index_prepare, 1};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_RLWE_DERIVED_H_
