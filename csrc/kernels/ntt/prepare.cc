// Twiddles with their companions, in the form that an instruction set reads.
#include "kernels/ntt/derived.h"
#include "kernels/ntt/ntt_plan.h"

namespace cw {
namespace {

template <class T>
u64 WordAt(const cw_launch& launch, u32 operand, u64 i) {
  return (u64)(i64)Data<const T>(launch, operand)[(i64)i * Strides(launch, operand)[3]];
}

u64 BitsOf(double x) {
  u64 bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// floor(w * 2^64 / q) for many w < q, by a reciprocal: Moeller and Granlund 2011, algorithm 4 with
// a low word of 0. d = q * 2^shift has its top bit set, reciprocal = floor((2^128 - 1) / d) - 2^64.
struct Quotients {
  u64 d, shift, reciprocal;

  explicit Quotients(u64 q)
      : d(q << __builtin_clzll(q)),
        shift((u64)__builtin_clzll(q)),
        reciprocal((u64)(~(u128)0 / d)) {}

  u64 Of(u64 w) const {
    const u64 u = w << shift;
    const u128 product = (u128)reciprocal * u + ((u128)u << 64);
    u64 quotient = (u64)(product >> 64) + 1;
    const u64 rest = 0 - quotient * d;
    if (rest > (u64)product) return quotient - 1;
    return quotient + (rest >= d ? 1 : 0);
  }
};

// Factors in [0, q) in one form.
struct Writer {
  u64 q;
  TwiddleForm form;
  Quotients quotients;

  TwiddleWords Words(u64 w) const {
    switch (form) {
      case TwiddleForm::kWord64:
        return {w, quotients.Of(w)};
      case TwiddleForm::kWord52:
        return {w, quotients.Of(w) >> 12};
      case TwiddleForm::kBinary64:
        break;
    }
    const double centred = w > q / 2 ? -(double)(q - w) : (double)w;
    return {BitsOf(centred), BitsOf(centred / (double)q)};
  }
};

// Where the twiddle of a node stands. The stages inside vectors load those of one vector together,
// in bit-reversed order.
u64 PlaceOf(u64 node, u64 size, u64 lanes) {
  for (u64 half = 1; half < lanes; half *= 2) {
    if (node < size / (2 * half)) continue;
    u64 place = node - node % (lanes / half);
    for (u64 from = 1, to = lanes / half / 2; to > 0; from *= 2, to /= 2) {
      if ((node & from) != 0) place += to;
    }
    return place;
  }
  return node;
}

RowOrder OrderOf(const cw_launch& launch, u64 size) {
  if (launch.data[4] == nullptr) return RowOrder::kOfTransform;
  for (u64 i = 0; i < size; ++i) {
    if (WordAt<i64>(launch, 4, i) != i) return RowOrder::kPermuted;
  }
  return RowOrder::kOfTransform;
}

// What an instruction set reads.
struct Reader {
  TwiddleForm narrow;
  u64 lanes;
};

// The block of one limb: of T are q, the table and, for an inverse, the scale.
template <class T, bool inverse>
void PrepareLimb(const cw_launch& launch, Reader reader, NttLimb& block) {
  const u64 size = Dim(launch, 3), q = WordAt<T>(launch, 2, 0);
  if (size < kLeastVectorSize) reader = {TwiddleForm::kWord64, 1};
  const TwiddleForm form = q < kNarrowLimit ? reader.narrow : TwiddleForm::kWord64;
  const Writer writer = {q, form, Quotients(q)};
  auto* values = reinterpret_cast<u64*>(&block + 1);
  for (u64 i = 0; i < size; ++i) {
    const TwiddleWords words = writer.Words(CanonicalWord((i64)WordAt<T>(launch, 3, i), q));
    const u64 place = PlaceOf(i, size, reader.lanes);
    values[place] = words.value;
    values[size + place] = words.companion;
  }
  block = {q, form, OrderOf(launch, size), 0, {0, 0}, {0, 0}};
  if constexpr (inverse) {
    const u64 scale = CanonicalWord((i64)WordAt<T>(launch, 5, 0), q);
    block.scale = writer.Words(scale);
    if (size < 2) return;
    const u64 w = CanonicalWord((i64)WordAt<T>(launch, 3, 1), q);
    block.last = writer.Words((u64)((u128)scale * w % q));
  }
}

}  // namespace
}  // namespace cw

#define CW_PREPARE_ONE(name, T, inverse, isa, form, lanes)              \
  void cw_##name##_##isa(const cw_launch* l, void* p) {                 \
    cw::PrepareLimb<T, inverse>(*l, {cw::TwiddleForm::form, lanes},     \
                                *static_cast<cw::NttLimb*>(p));         \
  }
#define CW_PREPARE(isa, form, lanes)                                    \
  CW_PREPARE_ONE(ntt_prepare_i32, int32_t, false, isa, form, lanes)     \
  CW_PREPARE_ONE(ntt_prepare_i64, int64_t, false, isa, form, lanes)     \
  CW_PREPARE_ONE(intt_prepare_i32, int32_t, true, isa, form, lanes)     \
  CW_PREPARE_ONE(intt_prepare_i64, int64_t, true, isa, form, lanes)

extern "C" {
CW_PREPARE(portable, kWord64, 1)
CW_PREPARE(avx2, kBinary64, 4)
CW_PREPARE(avx512, kBinary64, 8)
CW_PREPARE(avx512ifma, kWord52, 8)
uint64_t cw_ntt_prepared_bytes(const cw_launch* l) { return cw::NttPlan(*l).BlockBytes(); }
// One row.
uint64_t cw_ntt_scratch_bytes(const cw_launch* l) { return l->dims[3] * sizeof(uint64_t); }
}
