#include "kernels/isa/portable.h"
#include "kernels/creation/kernels.h"
#include "kernels/creation/kernels.inc"
