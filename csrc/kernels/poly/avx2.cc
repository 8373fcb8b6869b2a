#include "kernels/isa/avx2.h"
#include "kernels/poly/kernels.h"
#include "kernels/poly/kernels.inc"
