#include "kernels/isa/avx512.h"
#include "kernels/reduction/kernels.h"
#include "kernels/reduction/kernels.inc"
