// The accumulator of modmul_axis_sum with 52-bit multiply-add.
#ifndef CLOAKWORK_KERNELS_MODULAR_PRODUCT_SUM_IFMA_H_
#define CLOAKWORK_KERNELS_MODULAR_PRODUCT_SUM_IFMA_H_

#include "kernels/modular/product_sum.h"
#include "kernels/simd/u64x8.h"

namespace cw {
namespace {

// A word below 2^62 is low + high * 2^52. The instructions multiply the low 52 bits of their
// operands and add the low or high half of the 104-bit product. Each kind of partial product has a
// sum of its own, so that no chain of additions is longer than the number of terms; 15 terms of
// less than 2^52 stay far below 2^64.
template <>
struct ProductSum<U64x8> {
  U64x8 start;
  __m512i ll_low, ll_high, lh_low, lh_high, hl_low, hl_high, hh_low;

  explicit CW_INLINE ProductSum(U64x8 start_) : start(start_) {
    ll_low = ll_high = lh_low = lh_high = hl_low = hl_high = hh_low = _mm512_setzero_si512();
  }

  CW_INLINE void Add(U64x8 x, U64x8 y) {
    const __m512i x_high = _mm512_srli_epi64(x.v, 52), y_high = _mm512_srli_epi64(y.v, 52);
    ll_low = _mm512_madd52lo_epu64(ll_low, x.v, y.v);
    ll_high = _mm512_madd52hi_epu64(ll_high, x.v, y.v);
    lh_low = _mm512_madd52lo_epu64(lh_low, x.v, y_high);
    lh_high = _mm512_madd52hi_epu64(lh_high, x.v, y_high);
    hl_low = _mm512_madd52lo_epu64(hl_low, x_high, y.v);
    hl_high = _mm512_madd52hi_epu64(hl_high, x_high, y.v);
    hh_low = _mm512_madd52lo_epu64(hh_low, x_high, y_high);
  }

  // lowest + middle * 2^52 + highest * 2^104, below 2^128 in all.
  CW_INLINE U64x8 Words(U64x8& low_word) const {
    const U64x8 lowest = cw::Add(start, U64x8{ll_low});
    const U64x8 middle = {_mm512_add_epi64(ll_high, _mm512_add_epi64(lh_low, hl_low))};
    const U64x8 highest = {_mm512_add_epi64(hh_low, _mm512_add_epi64(lh_high, hl_high))};
    U64x8 high = {_mm512_slli_epi64(highest.v, 40)};
    low_word = lowest;
    AddWide(high, low_word, U64x8{_mm512_srli_epi64(middle.v, 12)},
            U64x8{_mm512_slli_epi64(middle.v, 52)});
    return high;
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_PRODUCT_SUM_IFMA_H_
