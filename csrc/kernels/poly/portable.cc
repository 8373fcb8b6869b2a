#include "kernels/isa/portable.h"
#include "kernels/poly/kernels.h"
#include "kernels/poly/kernels.inc"
