#include "kernels/isa/avx2.h"
#include "kernels/reduction/kernels.h"
#include "kernels/reduction/kernels.inc"
