#include "kernels/isa/avx512.h"
#include "kernels/elementwise/kernels.h"
#include "kernels/elementwise/kernels.inc"
