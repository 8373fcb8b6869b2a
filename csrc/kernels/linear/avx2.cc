#include "kernels/isa/avx2.h"
#include "kernels/linear/kernels.h"
#include "kernels/linear/kernels.inc"
