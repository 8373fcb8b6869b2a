// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_FIELD_KERNELS_H_
#define CLOAKWORK_KERNELS_FIELD_KERNELS_H_

#include "kernels/field/canonical.h"
#include "kernels/field/elementwise.h"
#include "kernels/field/moves.h"
#include "kernels/field/reduce.h"

#endif  // CLOAKWORK_KERNELS_FIELD_KERNELS_H_
