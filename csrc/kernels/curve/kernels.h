// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_CURVE_KERNELS_H_
#define CLOAKWORK_KERNELS_CURVE_KERNELS_H_

#include "kernels/curve/msm.h"
#include "kernels/curve/pointwise.h"
#include "kernels/curve/words.h"

#endif  // CLOAKWORK_KERNELS_CURVE_KERNELS_H_
