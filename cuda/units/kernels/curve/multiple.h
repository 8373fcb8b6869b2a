// curve_mul for a thread of a GPU: one multiple by doubling, without the processor's tables.
#ifndef CLOAKWORK_CUDA_CURVE_MULTIPLE_H_
#define CLOAKWORK_CUDA_CURVE_MULTIPLE_H_

#include "kernels/curve/multiples.h"
#include "kernels/rows.h"

namespace cw {
namespace {

template <class V, class Scalar, class Point>
void CurveMulOne(const cw_launch& launch, u64 begin, u64 end, void*) {
  using F = typename CoordinateOf<Point>::F;
  Rows<3> rows(launch.rank - 1, launch.dims,
               {Strides(launch, 0), Strides(launch, 1), Strides(launch, 2)});
  ForEachBlock(rows, begin, end, [&](u64, u64) {
    const Words<4> number = ToCanonical(Data<const Scalar>(launch, 1)[rows.offset[1]]);
    const Point point = Data<const Point>(launch, 2)[rows.offset[2]];
    Xyzz<F> sum = InfiniteXyzz<F>();
    for (u64 bit = 256; bit-- > 0;) {
      sum = Double(sum);
      if ((number.word[bit / 64] >> (bit % 64) & 1) != 0) sum = Add(sum, point);
    }
    Data<Point>(launch, 0)[rows.offset[0]] = ToAffine(sum);
  });
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_CURVE_MULTIPLE_H_
