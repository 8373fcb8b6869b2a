// Constants of Poseidon by its width.
#include "kernels/hash/derived.h"
#include "kernels/hash/poseidon_lanes.h"
#include "kernels/hash/poseidon_constants.h"

extern "C" {
// The larger size of the two forms.
uint64_t cw_poseidon_prepared(const cw_launch* launch) {
  return cw::PoseidonLayout((cw::u32)launch->params[0]).Size() * sizeof(cw::Limbs52);
}

void cw_poseidon_prepare(const cw_launch* launch, void* prepared) {
  cw::DerivePoseidon((cw::u32)launch->params[0], static_cast<cw::Bn254Fr*>(prepared));
}

// From the last to the first, because the elements lie before their limbs in the same memory.
void cw_poseidon_prepare_ifma(const cw_launch* launch, void* prepared) {
  cw_poseidon_prepare(launch, prepared);
  for (cw::u32 i = cw::PoseidonLayout((cw::u32)launch->params[0]).Size(); i-- > 0;) {
    cw::Bn254Fr element;
    memcpy(&element, static_cast<char*>(prepared) + i * sizeof element, sizeof element);
    const cw::Limbs52 limbs = cw::ToLimbs52(element);
    memcpy(static_cast<char*>(prepared) + i * sizeof limbs, &limbs, sizeof limbs);
  }
}
}
