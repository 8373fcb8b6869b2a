#include "kernels/isa/portable.h"
#include "kernels/reduction/kernels.h"
#include "kernels/reduction/kernels.inc"
