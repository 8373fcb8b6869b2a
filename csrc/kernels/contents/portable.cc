#include "kernels/isa/portable.h"
#include "kernels/contents/kernels.h"
#include "kernels/contents/kernels.inc"
