#include "kernels/isa/avx512.h"
#include "kernels/hash/kernels.h"
#include "kernels/hash/kernels.inc"
