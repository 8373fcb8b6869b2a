#include "kernels/isa/avx2.h"

#include "kernels/curve/kernels.h"
#include "kernels/curve/kernels.inc"
