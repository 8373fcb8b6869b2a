// One unit a thread: the rows of this family that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/sorting/kernels.h"
#include "kernels/sorting/kernels.inc"
