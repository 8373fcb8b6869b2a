// What a row of kernels.inc derives from constant operands before it runs.
#ifndef CLOAKWORK_KERNELS_DERIVED_H_
#define CLOAKWORK_KERNELS_DERIVED_H_

#include "cloakwork/kernel.h"

namespace cw {
namespace {

// The last columns of a kernel row. Functions are portable code. One prepare serves every
// instruction set that has none of its own here.
struct Derived {
  uint32_t constant_operands;
  cw_size_fn scratch_bytes;
  cw_size_fn prepared_bytes;
  cw_prepare_fn prepare;
  uint32_t prepared_axis = 0;
  cw_prepare_fn prepare_avx2 = nullptr;
  cw_prepare_fn prepare_avx512 = nullptr;
  cw_prepare_fn prepare_avx512ifma = nullptr;
};

constexpr Derived kNothing = {0, nullptr, nullptr, nullptr};

constexpr cw_prepare_fn PrepareOf(const Derived& derived, uint32_t isa) {
  const cw_prepare_fn own = isa == CW_AVX2         ? derived.prepare_avx2
                            : isa == CW_AVX512     ? derived.prepare_avx512
                            : isa == CW_AVX512IFMA ? derived.prepare_avx512ifma
                                                   : nullptr;
  return own != nullptr ? own : derived.prepare;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_DERIVED_H_
