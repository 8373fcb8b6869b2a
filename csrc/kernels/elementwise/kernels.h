// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_KERNELS_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_KERNELS_H_

#include "kernels/elementwise/arithmetic.h"
#include "kernels/elementwise/bitwise.h"
#include "kernels/elementwise/cast.h"
#include "kernels/elementwise/comparison.h"
#include "kernels/elementwise/complex.h"
#include "kernels/elementwise/division.h"
#include "kernels/elementwise/functions.h"
#include "kernels/elementwise/guarded.h"
#include "kernels/elementwise/rounding.h"
#include "kernels/elementwise/series.h"
#include "kernels/elementwise/where.h"

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_KERNELS_H_
