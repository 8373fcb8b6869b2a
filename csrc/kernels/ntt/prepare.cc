// Twiddles with their companions, in the form that an instruction set reads.
#include "kernels/ntt/derived.h"
#include "kernels/ntt/reorder.h"

namespace cw {
namespace {

template <class T>
u64 WordAt(const cw_launch& launch, u32 operand, u64 i) {
  return (u64)(i64)Data<const T>(launch, operand)[(i64)i * Strides(launch, operand)[3]];
}

// The position of a node's twiddle. The stages inside vectors load the twiddles of one vector
// together, in bit-reversed order: lanes at distance 1, lanes / 2 at distance 2, and so on.
u64 PlaceOf(u64 node, u64 size, u64 lanes) {
  constexpr u64 kFour[] = {0, 2, 1, 3}, kEight[] = {0, 4, 2, 6, 1, 5, 3, 7};
  const u64 together = node >= size / 2 ? lanes : node >= size / 4 ? lanes / 2 : 1;
  if (together == 8) return (node & ~(u64)7) + kEight[node & 7];
  if (together == 4) return (node & ~(u64)3) + kFour[node & 3];
  return node;  // one or two
}

RowOrder OrderOf(const cw_launch& launch, u64 size) {
  if (launch.data[4] == nullptr) return RowOrder::kOfTransform;
  bool identity = true, reversal = true;
  u64 reversed = 0;
  for (u64 i = 0; i < size && (identity || reversal); ++i) {
    const u64 place = WordAt<i64>(launch, 4, i);
    identity = identity && place == i;
    reversal = reversal && place == reversed;
    reversed = NextReversed(reversed, size / 2);
  }
  return identity   ? RowOrder::kOfTransform
         : reversal ? RowOrder::kBitReversed
                    : RowOrder::kPermuted;
}

// The twiddle form that an instruction set reads.
struct Reader {
  TwiddleForm narrow;
  u64 lanes;
};

// The block of one limb; q and the table have elements of T.
template <class T>
void PrepareLimb(const cw_launch& launch, Reader reader, NttLimb& block) {
  const u64 size = Dim(launch, 3), q = AnyModulus((i64)WordAt<T>(launch, 2, 0));
  if (size < kLeastVectorSize) reader = {TwiddleForm::kWord64, 1};
  const TwiddleForm form = q < kNarrowLimit ? reader.narrow : TwiddleForm::kWord64;
  block = NttLimb(q, form, OrderOf(launch, size));
  auto* values = reinterpret_cast<u64*>(&block + 1);
  for (u64 i = 0; i < size; ++i) {
    const TwiddleWords words = block.Words(CanonicalWord((i64)WordAt<T>(launch, 3, i), q));
    const u64 place = PlaceOf(i, size, reader.lanes);
    values[place] = words.value;
    values[size + place] = words.companion;
  }
}

}  // namespace
}  // namespace cw

#define CW_PREPARE_ONE(name, T, isa, form, lanes)                                      \
  void cw_##name##_##isa(const cw_launch* l, void* p) {                                \
    cw::PrepareLimb<T>(*l, {cw::TwiddleForm::form, lanes}, *static_cast<cw::NttLimb*>(p)); \
  }
#define CW_PREPARE(isa, form, lanes)                    \
  CW_PREPARE_ONE(ntt_prepare_i32, int32_t, isa, form, lanes) \
  CW_PREPARE_ONE(ntt_prepare_i64, int64_t, isa, form, lanes)

extern "C" {
CW_PREPARE(portable, kWord64, 1)
CW_PREPARE(avx2, kBinary64, 4)
CW_PREPARE(avx512, kBinary64, 8)
CW_PREPARE(avx512ifma, kWord52, 8)
uint64_t cw_ntt_prepared_bytes(const cw_launch* l) { return cw::LimbBytes((uint64_t)l->dims[3]); }
// The size of one row.
uint64_t cw_ntt_scratch_bytes(const cw_launch* l) { return l->dims[3] * sizeof(uint64_t); }
}
