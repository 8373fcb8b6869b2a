// cw_find_difference: Rust's comparison of tensors after a run.
#include "kernels/rows.h"

namespace cw {
namespace {

// Bytes of a file may have any alignment: checks do not assume one.
template <class T>
struct __attribute__((packed)) Unaligned {
  T value;
};

// An element of a field, or a point.
template <u32 kBytes>
struct Wide {
  unsigned char bytes[kBytes];

  bool operator!=(const Wide& other) const { return __builtin_memcmp(bytes, other.bytes, kBytes); }
  bool operator==(const Wide& other) const { return !(*this != other); }
};

template <class T>
i64 FindDifference(const void* a, const i64* a_strides, const void* b, const i64* b_strides,
                   u32 rank, const i64* dims, u64* different) {
  *different = 0;
  u64 elements = 1;
  for (u32 axis = 0; axis < rank; ++axis) elements *= (u64)dims[axis];
  Rows<2> rows(rank, dims, {a_strides, b_strides});
  using Word = Unaligned<T>;
  Word a_buffer[kBlock], b_buffer[kBlock];
  u64 seen = 0;
  i64 found = -1;
  ForEachBlock(rows, 0, elements, [&](u64 position, u64 count) {
    const Word* x = FetchBlock(rows, 0, static_cast<const Word*>(a), position, count, a_buffer);
    const Word* y = FetchBlock(rows, 1, static_cast<const Word*>(b), position, count, b_buffer);
    u64 differing = 0;
    for (u64 i = 0; i < count; ++i) differing += x[i].value != y[i].value;
    if (differing != 0 && found < 0) {
      u64 i = 0;
      while (i + 1 < count && x[i].value == y[i].value) ++i;
      found = (i64)(seen + i);
    }
    *different += differing;
    seen += count;
  });
  return found;
}

}  // namespace
}  // namespace cw

extern "C" {
int64_t cw_find_difference(uint32_t element_bytes, const void* a, const int64_t* a_strides,
                           const void* b, const int64_t* b_strides, uint32_t rank,
                           const int64_t* dims, uint64_t* different) {
  switch (element_bytes) {
    case 1:
      return cw::FindDifference<uint8_t>(a, a_strides, b, b_strides, rank, dims, different);
    case 2:
      return cw::FindDifference<uint16_t>(a, a_strides, b, b_strides, rank, dims, different);
    case 4:
      return cw::FindDifference<uint32_t>(a, a_strides, b, b_strides, rank, dims, different);
    case 16:
      return cw::FindDifference<cw::u128>(a, a_strides, b, b_strides, rank, dims, different);
    case 32:
      return cw::FindDifference<cw::Wide<32>>(a, a_strides, b, b_strides, rank, dims, different);
    case 48:
      return cw::FindDifference<cw::Wide<48>>(a, a_strides, b, b_strides, rank, dims, different);
    case 64:
      return cw::FindDifference<cw::Wide<64>>(a, a_strides, b, b_strides, rank, dims, different);
    case 96:
      return cw::FindDifference<cw::Wide<96>>(a, a_strides, b, b_strides, rank, dims, different);
    case 128:
      return cw::FindDifference<cw::Wide<128>>(a, a_strides, b, b_strides, rank, dims, different);
    case 192:
      return cw::FindDifference<cw::Wide<192>>(a, a_strides, b, b_strides, rank, dims, different);
    default:  // 8
      return cw::FindDifference<uint64_t>(a, a_strides, b, b_strides, rank, dims, different);
  }
}
}
