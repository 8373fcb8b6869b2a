// One unit a thread: the rows of this family that are not tuned.
#include "cuda/kernels/kernel.h"

#include "kernels/poly/kernels.h"
#include "kernels/poly/kernels.inc"

#include "kernels/poly/derived.h"
#include "kernels/poly/prepare.cc"

#define CW_CUDA_PREPARE_TRANSFORM(field, F) \
  CW_CUDA_PREPARE(kColumns_##field)         \
  CW_CUDA_PREPARE(kRows_##field)            \
  CW_CUDA_PREPARE(kShort_##field)
CW_EACH_LARGE_TRANSFORM(CW_CUDA_PREPARE_TRANSFORM)
CW_EACH_SMALL_TRANSFORM(CW_CUDA_PREPARE_TRANSFORM)
