#include "kernels/isa/avx2.h"
#include "kernels/sorting/kernels.h"
#include "kernels/sorting/kernels.inc"
