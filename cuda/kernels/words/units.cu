// One unit a thread: the rows of this family that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/words/kernels.h"
#include "kernels/words/kernels.inc"

#include "kernels/gadget/prepare.cc"
#include "kernels/modular/prepare.cc"
#include "kernels/ntt/prepare.cc"
#include "kernels/rlwe/prepare.cc"
#include "kernels/rns/prepare.cc"

CW_CUDA_PREPARE(kModuli2I32)
CW_CUDA_PREPARE(kModuli2I64)
CW_CUDA_PREPARE(kModuli3I32)
CW_CUDA_PREPARE(kModuli3I64)
CW_CUDA_PREPARE(kModuli4I32)
CW_CUDA_PREPARE(kModuli4I64)
CW_CUDA_PREPARE(kAxisSumI32)
CW_CUDA_PREPARE(kAxisSumI64)
CW_CUDA_PREPARE(kNttI32)
CW_CUDA_PREPARE(kNttI64)
CW_CUDA_PREPARE(kCrtI32)
CW_CUDA_PREPARE(kCrtI64)
CW_CUDA_PREPARE(kUniform)
CW_CUDA_PREPARE(kIndex)
CW_CUDA_PREPARE(kBaseI32)
CW_CUDA_PREPARE(kBaseI64)
