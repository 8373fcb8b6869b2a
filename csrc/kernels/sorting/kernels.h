// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_SORTING_KERNELS_H_
#define CLOAKWORK_KERNELS_SORTING_KERNELS_H_

#include "kernels/sorting/nonzero.h"
#include "kernels/sorting/scatter.h"
#include "kernels/sorting/search.h"
#include "kernels/sorting/sort.h"

#endif  // CLOAKWORK_KERNELS_SORTING_KERNELS_H_
