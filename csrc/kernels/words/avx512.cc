#include "kernels/isa/avx512.h"
#include "kernels/words/kernels.h"
#include "kernels/words/kernels.inc"
