#include "kernels/isa/avx512.h"

#include "kernels/curve/kernels.h"
#include "kernels/curve/kernels.inc"
