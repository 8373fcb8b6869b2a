#include "kernels/isa/portable.h"
#include "kernels/linear/kernels.h"
#include "kernels/linear/kernels.inc"
