#include "kernels/isa/avx512.h"
#include "kernels/contents/kernels.h"
#include "kernels/contents/kernels.inc"
