#include "kernels/isa/avx512.h"
#include "kernels/field/kernels.h"
#include "kernels/field/kernels.inc"
