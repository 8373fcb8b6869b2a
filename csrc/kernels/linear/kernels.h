// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_LINEAR_KERNELS_H_
#define CLOAKWORK_KERNELS_LINEAR_KERNELS_H_

#include "kernels/linear/matmul.h"
#include "kernels/linear/matvec.h"

#endif  // CLOAKWORK_KERNELS_LINEAR_KERNELS_H_
