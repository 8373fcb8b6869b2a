#include "kernels/isa/avx2.h"
#include "kernels/field/kernels.h"
#include "kernels/field/kernels.inc"
