// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_HASH_KERNELS_H_
#define CLOAKWORK_KERNELS_HASH_KERNELS_H_

#include "kernels/hash/poseidon.h"
#include "kernels/hash/transcript.h"
#include "kernels/hash/uniform.h"

#endif  // CLOAKWORK_KERNELS_HASH_KERNELS_H_
