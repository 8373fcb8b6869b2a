#include "kernels/isa/avx2.h"
#include "kernels/creation/kernels.h"
#include "kernels/creation/kernels.inc"
