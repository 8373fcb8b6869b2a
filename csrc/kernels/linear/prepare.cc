// Sizes of scratch memory for the kernels of this family.
#include "kernels/linear/derived.h"
#include "kernels/linear/matmul_shape.h"

namespace cw {
namespace {

template <class T>
u64 MatmulScratchBytes(const cw_launch& launch) {
  const MatmulShape shape(launch.params);
  // A copy of a block of a, and a panel of b.
  return shape.CopyBytes<T>() + shape.depth_block * kPanelRowBytes;
}

}  // namespace
}  // namespace cw

extern "C" {
uint64_t cw_matmul_scratch_bytes_1(const cw_launch* l) {
  return cw::MatmulScratchBytes<cw::Any8>(*l);
}
uint64_t cw_matmul_scratch_bytes_2(const cw_launch* l) {
  return cw::MatmulScratchBytes<cw::Any16>(*l);
}
uint64_t cw_matmul_scratch_bytes_4(const cw_launch* l) {
  return cw::MatmulScratchBytes<cw::Any32>(*l);
}
uint64_t cw_matmul_scratch_bytes_8(const cw_launch* l) {
  return cw::MatmulScratchBytes<cw::Any64>(*l);
}
uint64_t cw_matmul_scratch_bytes_16(const cw_launch* l) {
  return cw::MatmulScratchBytes<cw::Any128>(*l);
}
uint64_t cw_matvec_scratch_bytes(const cw_launch*) { return cw::kMatvecScratchBytes; }
}
