// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_CREATION_KERNELS_H_
#define CLOAKWORK_KERNELS_CREATION_KERNELS_H_

#include "kernels/creation/arange.h"
#include "kernels/creation/philox.h"

#endif  // CLOAKWORK_KERNELS_CREATION_KERNELS_H_
