// The list of all rows that Rust reads: kernels.inc once for each instruction set that the build
// has (CW_WITH_...; the portable one is always there).
#include <stddef.h>

#include "cloakwork/device.h"
#include "kernels/common.h"
#include "kernels/contents/derived.h"
#include "kernels/curve/derived.h"
#include "kernels/field/elements.h"
#include "kernels/gadget/derived.h"
#include "kernels/hash/derived.h"
#include "kernels/linear/derived.h"
#include "kernels/modular/derived.h"
#include "kernels/ntt/derived.h"
#include "kernels/poly/derived.h"
#include "kernels/reduction/derived.h"
#include "kernels/rlwe/derived.h"
#include "kernels/rns/derived.h"
#include "kernels/sorting/derived.h"

#define CW_DECLARE(kernel, suffix, isa) \
  extern "C" void cw_##kernel##_##suffix##_##isa(const cw_launch*, uint64_t, uint64_t, void*);

#define CW_ROW(kernel, suffix, isa, needs, preference, In, Out, derived) \
  {#kernel,                                                              \
   #kernel "_" #suffix "_" #isa,                                         \
   needs,                                                                \
   Element<In>::kDtype,                                                  \
   Element<Out>::kDtype,                                                 \
   Element<Out>::kBytes,                                                 \
   derived.constant_operands,                                            \
   derived.prepared_axis,                                                \
   preference,                                                           \
   cw_##kernel##_##suffix##_##isa,                                       \
   derived.scratch_bytes,                                                \
   derived.prepared_bytes,                                               \
   PrepareOf(derived, needs)},

#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) CW_DECLARE(kernel, suffix, portable)
#define CW_PORTABLE_KERNEL CW_KERNEL
#include "kernels/all.inc"
#undef CW_KERNEL
#undef CW_PORTABLE_KERNEL
#define CW_PORTABLE_KERNEL(kernel, suffix, Function, In, Out, derived)
#if defined(CW_WITH_AVX2)
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) CW_DECLARE(kernel, suffix, avx2)
#include "kernels/all.inc"
#undef CW_KERNEL
#endif
#if defined(CW_WITH_AVX512)
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) CW_DECLARE(kernel, suffix, avx512)
#include "kernels/all.inc"
#undef CW_KERNEL
#endif
#if defined(CW_WITH_AVX512IFMA)
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) CW_DECLARE(kernel, suffix, avx512ifma)
#include "kernels/muladd52.inc"
#undef CW_KERNEL
#endif

namespace cw {
namespace {

// Of the rows of one kernel, those of wider vectors are faster; of equal ones, those with 52-bit
// products. The values are bits of a vector, so that rows for other processors fit in between.
constexpr uint32_t kPreferPortable = 64, kPrefer256 = 256, kPrefer512 = 512, kPrefer512Ifma = 513;

constexpr cw_kernel_row kRows[] = {
#if defined(CW_WITH_AVX512IFMA)
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) \
  CW_ROW(kernel, suffix, avx512ifma, CW_AVX512IFMA, kPrefer512Ifma, In, Out, derived)
#include "kernels/muladd52.inc"
#undef CW_KERNEL
#endif
#if defined(CW_WITH_AVX512)
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) \
  CW_ROW(kernel, suffix, avx512, CW_AVX512, kPrefer512, In, Out, derived)
#include "kernels/all.inc"
#undef CW_KERNEL
#endif
#if defined(CW_WITH_AVX2)
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) \
  CW_ROW(kernel, suffix, avx2, CW_AVX2, kPrefer256, In, Out, derived)
#include "kernels/all.inc"
#undef CW_KERNEL
#endif
#undef CW_PORTABLE_KERNEL
#define CW_PORTABLE_KERNEL CW_KERNEL
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived) \
  CW_ROW(kernel, suffix, portable, CW_PORTABLE, kPreferPortable, In, Out, derived)
#include "kernels/all.inc"
#undef CW_KERNEL
};

constexpr uint64_t kLayout[] = {
    CW_KERNEL_ABI,
    sizeof(cw_launch),
    offsetof(cw_launch, rank),
    offsetof(cw_launch, operands),
    offsetof(cw_launch, dims),
    offsetof(cw_launch, strides),
    offsetof(cw_launch, data),
    offsetof(cw_launch, params),
    offsetof(cw_launch, prepared),
    sizeof(cw_kernel_row),
    offsetof(cw_kernel_row, kernel),
    offsetof(cw_kernel_row, symbol),
    offsetof(cw_kernel_row, needs),
    offsetof(cw_kernel_row, in_dtype),
    offsetof(cw_kernel_row, out_dtype),
    offsetof(cw_kernel_row, element_bytes),
    offsetof(cw_kernel_row, constant_operands),
    offsetof(cw_kernel_row, prepared_axis),
    offsetof(cw_kernel_row, preference),
    offsetof(cw_kernel_row, run),
    offsetof(cw_kernel_row, scratch_bytes),
    offsetof(cw_kernel_row, prepared_bytes),
    offsetof(cw_kernel_row, prepare),
    CW_PORTABLE,
    CW_NEON,
    CW_AVX2,
    CW_AVX512,
    CW_AVX512IFMA,
    CW_FIRST_OWN_FEATURE,
};

constexpr uint64_t kDeviceLayout[] = {
    CW_DEVICE_ABI,
    sizeof(cw_device_costs),
    offsetof(cw_device_costs, launch_ns),
    offsetof(cw_device_costs, transfer_ns),
    offsetof(cw_device_costs, upload_bytes_per_us),
    offsetof(cw_device_costs, download_bytes_per_us),
    offsetof(cw_device_costs, memory_bytes_per_us),
    offsetof(cw_device_costs, operations_per_us),
    CW_DEVICE_HOST_MEMORY,
    CW_DEVICE_FUSES,
    CW_DEVICE_LIMB_MAJOR,
    CW_DEVICE_SEGMENTS,
    sizeof(cw_driver),
    offsetof(cw_driver, abi),
    offsetof(cw_driver, struct_bytes),
    offsetof(cw_driver, name),
    offsetof(cw_driver, capabilities),
    offsetof(cw_driver, costs),
    offsetof(cw_driver, count),
    offsetof(cw_driver, kernels),
    offsetof(cw_driver, features),
    offsetof(cw_driver, functions),
    offsetof(cw_driver, segments),
    sizeof(cw_device_functions),
    offsetof(cw_device_functions, open),
    offsetof(cw_device_functions, close),
    offsetof(cw_device_functions, reason),
    offsetof(cw_device_functions, allocate),
    offsetof(cw_device_functions, release),
    offsetof(cw_device_functions, open_queue),
    offsetof(cw_device_functions, close_queue),
    offsetof(cw_device_functions, upload),
    offsetof(cw_device_functions, download),
    offsetof(cw_device_functions, launch),
    offsetof(cw_device_functions, prepare),
    offsetof(cw_device_functions, record),
    offsetof(cw_device_functions, wait),
    offsetof(cw_device_functions, finish),
    offsetof(cw_device_functions, check),
    offsetof(cw_device_functions, failed_check),
    (uint64_t)(int64_t)CW_DEVICE_WRONG_CONTENTS,
    (uint64_t)(int64_t)CW_DEVICE_LOST,
    sizeof(cw_failed_check),
    offsetof(cw_failed_check, check),
    offsetof(cw_failed_check, status),
    sizeof(cw_segment_functions),
    offsetof(cw_segment_functions, build),
    offsetof(cw_segment_functions, run),
    offsetof(cw_segment_functions, release),
    CW_NODE_LAUNCH,
    CW_NODE_PREPARE,
    CW_NODE_JOIN,
    CW_NODE_CHECK,
    sizeof(cw_node),
    offsetof(cw_node, kind),
    offsetof(cw_node, row),
    offsetof(cw_node, params),
    offsetof(cw_node, after_count),
    offsetof(cw_node, launch),
    offsetof(cw_node, units),
    offsetof(cw_node, block),
    offsetof(cw_node, after),
    CW_RANGE_INPUT,
    CW_RANGE_OUTPUT,
    CW_RANGE_CHECKED,
    sizeof(cw_range),
    offsetof(cw_range, at),
    offsetof(cw_range, bytes),
    offsetof(cw_range, first),
    offsetof(cw_range, last),
    offsetof(cw_range, flags),
    sizeof(cw_segment_parts),
    offsetof(cw_segment_parts, nodes),
    offsetof(cw_segment_parts, node_count),
    offsetof(cw_segment_parts, ranges),
    offsetof(cw_segment_parts, range_count),
};

}  // namespace
}  // namespace cw

extern "C" {
const cw_kernel_row* cw_cpu_kernels(uint64_t* count) {
  *count = sizeof cw::kRows / sizeof cw::kRows[0];
  return cw::kRows;
}

const uint64_t* cw_abi_layout(uint64_t* count) {
  *count = sizeof cw::kLayout / sizeof cw::kLayout[0];
  return cw::kLayout;
}

const uint64_t* cw_device_layout(uint64_t* count) {
  *count = sizeof cw::kDeviceLayout / sizeof cw::kDeviceLayout[0];
  return cw::kDeviceLayout;
}
}
