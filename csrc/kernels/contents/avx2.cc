#include "kernels/isa/avx2.h"
#include "kernels/contents/kernels.h"
#include "kernels/contents/kernels.inc"
