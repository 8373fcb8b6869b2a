// One unit a thread: the rows on words that are not tuned; copies and fills by places.
#define CW_CUDA_MANY
#include "cuda/kernels/spaces.cuh"

#include "kernels/words/kernels.h"

#include "kernels/gadget/kernels.inc"
#include "kernels/layout/kernels.inc"
#include "kernels/rlwe/kernels.inc"

#include "kernels/gadget/prepare.cc"
#include "kernels/rlwe/prepare.cc"

CW_CUDA_PREPARE(kCrtI32)
CW_CUDA_PREPARE(kCrtI64)
CW_CUDA_PREPARE(kUniform)
CW_CUDA_PREPARE(kIndex)

namespace cw {
namespace {

template <class Out>
CW_INLINE void CopyPlaces(const cw_launch& launch, u64 units, bool by_rows, const Grid& grid) {
  const i64* strides[] = {Strides(launch, 0), Strides(launch, 1)};
  ForEachPlace(grid, launch.rank, launch.dims, strides, units, by_rows, [&](const i64* at) {
    Data<Out>(launch, 0)[at[0]] = Data<const Out>(launch, 1)[at[1]];
  });
}

template <class Out>
CW_INLINE void FillPlaces(const cw_launch& launch, u64 units, bool by_rows, const Grid& grid) {
  const i64* strides[] = {Strides(launch, 0)};
  Out value;
  memcpy(&value, launch.params, sizeof value);  // little-endian: the low bytes
  ForEachPlace(grid, launch.rank, launch.dims, strides, units, by_rows,
               [&](const i64* at) { Data<Out>(launch, 0)[at[0]] = value; });
}

}  // namespace
}  // namespace cw

// `argument` is 1 for a grid by rows (cuda/plans/spaces.h).
#undef CW_KERNEL
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) {           \
    using namespace cw;                                       \
    Function##Places<Out>(own, units, argument != 0, grid);   \
  }
#include "csrc/kernels/layout/copies.inc"
