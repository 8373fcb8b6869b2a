#include "kernels/isa/avx512.h"
#include "kernels/sorting/kernels.h"
#include "kernels/sorting/kernels.inc"
