// The shape of a transform, and its tables, which depend only on params and the shift.
#ifndef CLOAKWORK_KERNELS_POLY_NTT_TABLES_H_
#define CLOAKWORK_KERNELS_POLY_NTT_TABLES_H_

#include "kernels/poly/lanes.h"

namespace cw {
namespace {

constexpr i64 kInverseFlag = 1;  // the inverse root
constexpr i64 kScaleFlag = 2;    // divided by n
constexpr i64 kShiftFlag = 4;    // a coset: operand `shift` is present

// params: log2 of n1 and of n2, the stride along the transformed axis, flags.
struct NttShape {
  u64 n1, n2;
  u32 log_n;
  i64 stride;
  bool inverse, scaled, shifted;

  explicit NttShape(const i64* params)
      : n1((u64)1 << params[0]),
        n2((u64)1 << params[1]),
        log_n((u32)(params[0] + params[1])),
        stride(params[2]),
        inverse(params[3] & kInverseFlag),
        scaled(params[3] & kScaleFlag),
        shifted(params[3] & kShiftFlag) {}
};

// For the columns' launch: roots [max(n1 / 2, 1)], with a coset before scales [n1]; first [n2] and
// next [n2], the powers that multiply column j: first_j next_j^k in row k. For the rows' launch:
// roots [max(n2 / 2, 1)], with a coset after scales [n2].
template <class L>
struct NttTables {
  typename L::Root* roots;
  typename L::Constant* scales;  // null: none
  typename L::Element* first;
  typename L::Element* next;

  NttTables(const NttShape& shape, const void* prepared, bool columns) {
    const u64 length = columns ? shape.n1 : shape.n2;
    roots = static_cast<typename L::Root*>(const_cast<void*>(prepared));
    auto* at = reinterpret_cast<typename L::Constant*>(roots + length / 2 + 1);
    const bool scaled = shape.shifted && shape.inverse != columns;
    scales = scaled ? at : nullptr;
    if (scaled) at += length;
    first = reinterpret_cast<typename L::Element*>(at);
    next = first + shape.n2;
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_NTT_TABLES_H_
