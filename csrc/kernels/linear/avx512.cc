#include "kernels/isa/avx512.h"
#include "kernels/linear/kernels.h"
#include "kernels/linear/kernels.inc"
