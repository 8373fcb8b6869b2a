// Eight states together.
#include "kernels/isa/avx512ifma.h"
#include "kernels/hash/poseidon.h"
#include "kernels/hash/muladd52.inc"
