#include "kernels/isa/avx2.h"
#include "kernels/elementwise/kernels.h"
#include "kernels/elementwise/kernels.inc"
