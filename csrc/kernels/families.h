// The algorithms of every family: what a file of one instruction set instantiates.
#ifndef CLOAKWORK_KERNELS_FAMILIES_H_
#define CLOAKWORK_KERNELS_FAMILIES_H_

#include "kernels/gadget/decompose.h"
#include "kernels/layout/copy.h"
#include "kernels/layout/gather.h"
#include "kernels/modular/axis_modsum.h"
#include "kernels/modular/elementwise.h"
#include "kernels/modular/modmul_axis_sum.h"
#include "kernels/ntt/transform.h"
#include "kernels/rlwe/sample.h"

#endif  // CLOAKWORK_KERNELS_FAMILIES_H_
