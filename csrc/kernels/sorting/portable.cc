#include "kernels/isa/portable.h"
#include "kernels/sorting/kernels.h"
#include "kernels/sorting/kernels.inc"
