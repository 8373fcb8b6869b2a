// The kernels that 52-bit multiply-add makes faster.
#include "kernels/isa/avx512ifma.h"
#include "kernels/poly/kernels.h"
#include "kernels/poly/products.inc"
