// The kernels that 52-bit multiply-add makes faster.
#include "kernels/isa/avx512ifma.h"
#include "kernels/field/kernels.h"
#include "kernels/field/products.inc"
