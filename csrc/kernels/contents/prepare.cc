// Sizes of the memory that checks of contents work in.
#include "kernels/contents/derived.h"
#include "kernels/contents/together.h"

extern "C" {
uint64_t cw_check_permutation_scratch(const cw_launch* launch) {
  return cw::WordsOfBits((uint64_t)launch->params[0]) * sizeof(uint64_t);
}

uint64_t cw_check_distinct_scratch(const cw_launch* launch) {
  return cw::DistinctPlaces(cw::WholeElements(*launch)) * sizeof(uint64_t);
}
}
