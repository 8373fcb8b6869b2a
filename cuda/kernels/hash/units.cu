// One unit a thread: the rows of this family that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/hash/kernels.h"
#include "kernels/hash/kernels.inc"

#include "kernels/hash/prepare.cc"

CW_CUDA_PREPARE(kPoseidonConstants)
