// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_POLY_KERNELS_H_
#define CLOAKWORK_KERNELS_POLY_KERNELS_H_

#include "kernels/poly/interpolate.h"
#include "kernels/poly/lookup.h"
#include "kernels/poly/ntt.h"
#include "kernels/poly/recurrences.h"

#endif  // CLOAKWORK_KERNELS_POLY_KERNELS_H_
