// One unit a thread: the rows of this family that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/field/kernels.h"
#include "kernels/field/kernels.inc"
