// One unit a thread: the rows of this family that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/curve/kernels.h"
#include "kernels/curve/multiple.h"
#include "kernels/curve/kernels.inc"
