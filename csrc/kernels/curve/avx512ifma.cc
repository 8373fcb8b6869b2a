// The kernels that 52-bit multiply-add makes faster.
#include "kernels/isa/avx512ifma.h"

#include "kernels/curve/kernels.h"
#include "kernels/curve/sums.inc"
