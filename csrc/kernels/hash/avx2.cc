#include "kernels/isa/avx2.h"
#include "kernels/hash/kernels.h"
#include "kernels/hash/kernels.inc"
