#include "kernels/isa/portable.h"
#include "kernels/hash/kernels.h"
#include "kernels/hash/kernels.inc"
