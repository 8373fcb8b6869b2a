// Sums of products in 128 bits: the accumulator of modmul_axis_sum.
#ifndef CLOAKWORK_KERNELS_MODULAR_PRODUCT_SUM_H_
#define CLOAKWORK_KERNELS_MODULAR_PRODUCT_SUM_H_

#include "kernels/common.h"

namespace cw {
namespace {

// start + x y + ... for start, x, y < 2^62 and at most 15 products.
template <class V>
struct ProductSum {
  V high, low;

  explicit CW_INLINE ProductSum(V start) : high(V::Set(0)), low(start) {}

  CW_INLINE void Add(V x, V y) {
    V product_low;
    const V product_high = MulWide(x, y, product_low);
    AddWide(high, low, product_high, product_low);
  }

  // Returns the high word of the sum, low receives the low one.
  CW_INLINE V Words(V& low_word) const {
    low_word = low;
    return high;
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_MODULAR_PRODUCT_SUM_H_
