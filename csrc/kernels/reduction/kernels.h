// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_REDUCTION_KERNELS_H_
#define CLOAKWORK_KERNELS_REDUCTION_KERNELS_H_

#include "kernels/reduction/cumulative.h"
#include "kernels/reduction/extreme_index.h"
#include "kernels/reduction/reduce.h"

#endif  // CLOAKWORK_KERNELS_REDUCTION_KERNELS_H_
