// Constants that kernels of this family derive from params alone.
#ifndef CLOAKWORK_KERNELS_HASH_DERIVED_H_
#define CLOAKWORK_KERNELS_HASH_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_poseidon_prepared(const cw_launch* launch);
void cw_poseidon_prepare(const cw_launch* launch, void* prepared);
void cw_poseidon_prepare_ifma(const cw_launch* launch, void* prepared);
}

namespace cw {
namespace {

// params: the width of the state.
constexpr Derived kPoseidonConstants = {
    0,       nullptr, cw_poseidon_prepared, cw_poseidon_prepare, 0, nullptr,
    nullptr, cw_poseidon_prepare_ifma};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_DERIVED_H_
