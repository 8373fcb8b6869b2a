#include "kernels/isa/avx512.h"
#include "kernels/poly/kernels.h"
#include "kernels/poly/kernels.inc"
