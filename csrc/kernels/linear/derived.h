// Scratch memory of the kernels of this family.
#ifndef CLOAKWORK_KERNELS_LINEAR_DERIVED_H_
#define CLOAKWORK_KERNELS_LINEAR_DERIVED_H_

#include "kernels/derived.h"

extern "C" {
uint64_t cw_matmul_scratch_bytes_1(const cw_launch* launch);
uint64_t cw_matmul_scratch_bytes_2(const cw_launch* launch);
uint64_t cw_matmul_scratch_bytes_4(const cw_launch* launch);
uint64_t cw_matmul_scratch_bytes_8(const cw_launch* launch);
uint64_t cw_matmul_scratch_bytes_16(const cw_launch* launch);
uint64_t cw_matvec_scratch_bytes(const cw_launch* launch);
}

namespace cw {
namespace {

// By the size of an element.
constexpr Derived kMatmul1 = {0, cw_matmul_scratch_bytes_1, nullptr, nullptr};
constexpr Derived kMatmul2 = {0, cw_matmul_scratch_bytes_2, nullptr, nullptr};
constexpr Derived kMatmul4 = {0, cw_matmul_scratch_bytes_4, nullptr, nullptr};
constexpr Derived kMatmul8 = {0, cw_matmul_scratch_bytes_8, nullptr, nullptr};
constexpr Derived kMatmul16 = {0, cw_matmul_scratch_bytes_16, nullptr, nullptr};
constexpr Derived kMatvec = {0, cw_matvec_scratch_bytes, nullptr, nullptr};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_LINEAR_DERIVED_H_
