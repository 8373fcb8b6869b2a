#include "kernels/isa/avx512.h"
#include "kernels/creation/kernels.h"
#include "kernels/creation/kernels.inc"
