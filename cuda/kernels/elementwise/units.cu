// One unit a thread: the rows of this family that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/elementwise/kernels.h"
#include "kernels/elementwise/kernels.inc"
