// The kernels that 52-bit multiply-add makes faster.
#include "kernels/isa/avx512ifma.h"
#include "kernels/modular/product_sum_ifma.h"

#include "kernels/modular/elementwise.h"
#include "kernels/modular/modmul_axis_sum.h"
#include "kernels/ntt/transform.h"
#include "kernels/rns/base_convert.h"
#include "kernels/words/muladd52.inc"
