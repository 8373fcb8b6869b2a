// The algorithms on words: residues, digits, samples, and moving elements of any type.
#ifndef CLOAKWORK_KERNELS_WORDS_KERNELS_H_
#define CLOAKWORK_KERNELS_WORDS_KERNELS_H_

#include "kernels/gadget/decompose.h"
#include "kernels/layout/copy.h"
#include "kernels/layout/gather.h"
#include "kernels/modular/axis_modsum.h"
#include "kernels/modular/elementwise.h"
#include "kernels/modular/modmul_axis_sum.h"
#include "kernels/ntt/transform.h"
#include "kernels/rlwe/automorphism.h"
#include "kernels/rlwe/sample.h"
#include "kernels/rns/base_convert.h"

#endif  // CLOAKWORK_KERNELS_WORDS_KERNELS_H_
