#include "kernels/isa/portable.h"

#include "kernels/curve/kernels.h"
#include "kernels/curve/kernels.inc"
