// Constants that a row of kernels.inc derives from operands before it runs.
#ifndef CLOAKWORK_KERNELS_DERIVED_H_
#define CLOAKWORK_KERNELS_DERIVED_H_

#include "cloakwork/kernel.h"

namespace cw {
namespace {

// The prepare function of one instruction set, or none, with a flag: a comparison of a function's
// address with null is not a constant expression under GCC's -fsanitize=null.
struct OwnPrepare {
  constexpr OwnPrepare() = default;
  constexpr OwnPrepare(decltype(nullptr)) {}
  constexpr OwnPrepare(cw_prepare_fn own) : exists(true), prepare(own) {}
  bool exists = false;
  cw_prepare_fn prepare = nullptr;
};

// The last columns of a kernel row. Functions are portable code. One prepare serves every
// instruction set without its own prepare here.
struct Derived {
  uint32_t constant_operands;
  cw_size_fn scratch_bytes;
  cw_size_fn prepared_bytes;
  cw_prepare_fn prepare;
  uint32_t prepared_axis = 0;
  OwnPrepare prepare_avx2 = {};
  OwnPrepare prepare_avx512 = {};
  OwnPrepare prepare_avx512ifma = {};
};

constexpr Derived kNothing = {0, nullptr, nullptr, nullptr};

constexpr cw_prepare_fn PrepareOf(const Derived& derived, uint64_t needs) {
  const OwnPrepare own = needs == CW_AVX2         ? derived.prepare_avx2
                         : needs == CW_AVX512     ? derived.prepare_avx512
                         : needs == CW_AVX512IFMA ? derived.prepare_avx512ifma
                                                  : OwnPrepare();
  return own.exists ? own.prepare : derived.prepare;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_DERIVED_H_
