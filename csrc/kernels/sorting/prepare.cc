// Sizes of scratch memory for sorting: the records of one unit, twice.
#include "kernels/sorting/derived.h"
#include "kernels/sorting/radix.h"

using cw::u64;

extern "C" {
uint64_t cw_sort_scratch_1(const cw_launch* launch) {
  return 2 * cw::SortCapacity(*launch);
}

uint64_t cw_sort_scratch_2(const cw_launch* launch) {
  return 2 * cw::SortCapacity(*launch) * 2;
}

uint64_t cw_sort_scratch_4(const cw_launch* launch) {
  return 2 * cw::SortCapacity(*launch) * 4;
}

uint64_t cw_sort_scratch_8(const cw_launch* launch) {
  return 2 * cw::SortCapacity(*launch) * 8;
}

uint64_t cw_argsort_scratch_4(const cw_launch* launch) {
  const bool narrow = cw::HasNarrowIndices(*launch);
  const u64 bytes = narrow ? sizeof(cw::Indexed<cw::u32>) : sizeof(cw::Indexed<u64>);
  return 2 * cw::SortCapacity(*launch) * bytes;
}

uint64_t cw_argsort_scratch_8(const cw_launch* launch) {
  return 2 * cw::SortCapacity(*launch) * sizeof(cw::Indexed<u64>);
}
}
