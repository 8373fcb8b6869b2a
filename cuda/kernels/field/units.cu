// One unit a thread: the rows of this family. Products are inlined: as operands of calls elements
// would go through memory.
#undef CW_CUDA_UNITS
#include "cuda/kernels/kernel.h"

#include "kernels/field/kernels.h"
#include "kernels/field/kernels.inc"
