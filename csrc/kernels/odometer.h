// Every position of a strided space in order.
#ifndef CLOAKWORK_KERNELS_ODOMETER_H_
#define CLOAKWORK_KERNELS_ODOMETER_H_

#include "kernels/common.h"

namespace cw {
namespace {

// Steps through positions row-major, without a division.
struct Odometer {
  u32 rank;
  const i64* dims;
  const i64* strides;
  i64 offset;
  i64 index[kMaxRank];

  Odometer(u32 rank_, const i64* dims_, const i64* strides_)
      : rank(rank_), dims(dims_), strides(strides_), offset(0) {
    for (u32 axis = 0; axis < rank; ++axis) index[axis] = 0;
  }

  CW_INLINE void Next() {
    for (u32 axis = rank; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < dims[axis]) return;
      offset -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ODOMETER_H_
