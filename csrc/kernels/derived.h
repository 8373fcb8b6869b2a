// What a row of kernels.inc derives from constant operands before it runs.
#ifndef CLOAKWORK_KERNELS_DERIVED_H_
#define CLOAKWORK_KERNELS_DERIVED_H_

#include "cloakwork/kernel.h"

namespace cw {
namespace {

// The last columns of a kernel row. Functions are portable: one copy serves every instruction set.
struct Derived {
  uint32_t constant_operands;
  cw_size_fn scratch_bytes;
  cw_size_fn prepared_bytes;
  cw_prepare_fn prepare;
  uint32_t prepared_axis = 0;
};

constexpr Derived kNothing = {0, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_DERIVED_H_
