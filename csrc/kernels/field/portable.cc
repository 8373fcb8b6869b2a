#include "kernels/isa/portable.h"
#include "kernels/field/kernels.h"
#include "kernels/field/kernels.inc"
