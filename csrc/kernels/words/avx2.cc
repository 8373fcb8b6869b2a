#include "kernels/isa/avx2.h"
#include "kernels/words/kernels.h"
#include "kernels/words/kernels.inc"
