// cw_find_outside and cw_find_difference: the checks that Rust asks for before and after a run.
#include "kernels/rows.h"

namespace cw {
namespace {

// Bytes of a file may lie anywhere: no alignment is assumed of what is only looked at.
template <class T>
struct __attribute__((packed)) Unaligned {
  T value;
};

// Bounds clipped to T: low > high where no value of T is inside.
template <class T>
struct Bounds {
  T low, high;  // both inside
  bool empty;

  Bounds(i64 low_, i64 high_) : low(0), high(0), empty(low_ >= high_) {
    constexpr bool kSigned = (T)-1 < (T)0;
    constexpr T kLeast = kSigned ? (T)((u64)1 << (8 * sizeof(T) - 1)) : (T)0;
    constexpr T kGreatest = (T)~kLeast;
    if (empty) return;
    const i128 least = kLeast, greatest = kGreatest;
    const i128 wanted_low = low_, wanted_high = (i128)high_ - 1;
    empty = wanted_low > greatest || wanted_high < least;
    low = (T)(wanted_low < least ? least : wanted_low);
    high = (T)(wanted_high > greatest ? greatest : wanted_high);
  }
};

template <class T>
i64 FindOutside(const void* data, u32 rank, const i64* dims, const i64* strides, i64 low,
                i64 high) {
  const Bounds<T> bounds(low, high);
  u64 elements = 1;
  for (u32 axis = 0; axis < rank; ++axis) elements *= (u64)dims[axis];
  if (elements == 0) return -1;
  if (bounds.empty) return 0;
  Rows<1> rows(rank, dims, {strides});
  using Word = Unaligned<T>;
  const auto* words = static_cast<const Word*>(data);
  Word buffer[kBlock];
  u64 seen = 0;
  i64 found = -1;
  ForEachBlock(rows, 0, elements, [&](u64 position, u64 count) {
    if (found >= 0) return;
    const Word* block = FetchBlock(rows, 0, words, position, count, buffer);
    bool outside = false;
    for (u64 i = 0; i < count; ++i) {
      outside |= (block[i].value < bounds.low) | (block[i].value > bounds.high);
    }
    if (outside) {
      u64 i = 0;
      while (block[i].value >= bounds.low && block[i].value <= bounds.high) ++i;
      found = (i64)(seen + i);
    }
    seen += count;
  });
  return found;
}

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
      while (x[i].value == y[i].value) ++i;
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
int64_t cw_find_outside(uint32_t dtype, const void* data, uint32_t rank, const int64_t* dims,
                        const int64_t* strides, int64_t low, int64_t high) {
  switch (dtype) {
    case CW_I8:
      return cw::FindOutside<int8_t>(data, rank, dims, strides, low, high);
    case CW_I16:
      return cw::FindOutside<int16_t>(data, rank, dims, strides, low, high);
    case CW_I32:
      return cw::FindOutside<int32_t>(data, rank, dims, strides, low, high);
    case CW_I64:
      return cw::FindOutside<int64_t>(data, rank, dims, strides, low, high);
    case CW_U8:
      return cw::FindOutside<uint8_t>(data, rank, dims, strides, low, high);
    case CW_U16:
      return cw::FindOutside<uint16_t>(data, rank, dims, strides, low, high);
    case CW_U32:
      return cw::FindOutside<uint32_t>(data, rank, dims, strides, low, high);
    default:  // CW_U64: the caller passes integer types alone
      return cw::FindOutside<uint64_t>(data, rank, dims, strides, low, high);
  }
}

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
    default:  // 8
      return cw::FindDifference<uint64_t>(a, a_strides, b, b_strides, rank, dims, different);
  }
}
}
