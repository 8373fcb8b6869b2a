// One unit a thread: the rows on words that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/words/kernels.h"

#include "kernels/gadget/kernels.inc"
#include "kernels/layout/kernels.inc"
#include "kernels/rlwe/kernels.inc"

#include "kernels/gadget/prepare.cc"
#include "kernels/rlwe/prepare.cc"

CW_CUDA_PREPARE(kCrtI32)
CW_CUDA_PREPARE(kCrtI64)
CW_CUDA_PREPARE(kUniform)
CW_CUDA_PREPARE(kIndex)
