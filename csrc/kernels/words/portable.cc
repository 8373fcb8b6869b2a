#include "kernels/isa/portable.h"
#include "kernels/words/kernels.h"
#include "kernels/words/kernels.inc"
