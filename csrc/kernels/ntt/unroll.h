// Loops whose counter is a constant, so that arrays of vectors stay in registers.
#ifndef CLOAKWORK_KERNELS_NTT_UNROLL_H_
#define CLOAKWORK_KERNELS_NTT_UNROLL_H_

#include "kernels/common.h"

namespace cw {
namespace {

template <int value>
struct Index {
  constexpr operator int() const { return value; }
};

// Calls body(Index<0>), ..., body(Index<count - 1>). The counter is a constant of the body itself;
// bodies inside it get a constexpr copy.
template <int count, int first = 0, class Body>
CW_INLINE void Unroll(const Body& body) {
  if constexpr (first < count) {
    body(Index<first>{});
    Unroll<count, first + 1>(body);
  }
}
#define CW_UNROLLED(i) [&](auto i) __attribute__((always_inline))

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_UNROLL_H_
