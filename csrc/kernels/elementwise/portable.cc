#include "kernels/isa/portable.h"
#include "kernels/elementwise/kernels.h"
#include "kernels/elementwise/kernels.inc"
