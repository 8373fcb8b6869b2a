// The rows of the CUDA kernels: the lists of csrc/kernels, each with its module and plans.
#include <stddef.h>

#include "cuda/plans/field_ntt.h"
#include "cuda/plans/linear.h"
#include "cuda/plans/msm.h"
#include "cuda/plans/ntt.h"
#include "cuda/plans/reduction.h"
#include "cuda/plans/sort.h"
#include "cuda/plans/spaces.h"
#include "cuda/plans/units.h"
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

namespace cw {
namespace {

constexpr bool Same(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}

// The plans of a kernel that has its own.
struct Plans {
  const char* kernel;
  cw_cuda_plan_fn plan, plan_prepare;
  const char* module = nullptr;  // null: that of the list
};
constexpr Plans kOwnPlans[] = {
    {"matmul_pack", PlanMatmulPack, nullptr},
    {"matmul", PlanMatmul, nullptr},
    {"matvec", PlanMatvec, nullptr},
    {"modmul", PlanElementwise, PlanRecords},
    {"modmuladd", PlanElementwise, PlanRecords},
    {"modsum", PlanElementwise, PlanRecords},
    {"mod", PlanElementwise, PlanRecords},
    {"modneg", PlanElementwise, PlanRecords},
    {"axis_modsum", PlanOuter, PlanRecords},
    {"modmul_axis_sum", PlanOuter, PlanOneThread},
    {"base_convert", PlanBaseConvert, PlanOneThread},
    {"ntt", PlanNtt, PlanNttLimb},
    {"intt", PlanIntt, PlanNttLimb},
    {"field_ntt_columns", PlanFieldNtt, PlanOneThread},
    {"field_ntt_rows", PlanFieldNtt, PlanOneThread},
    {"sum", PlanReduction, nullptr},
    {"prod", PlanReduction, nullptr},
    {"min", PlanReduction, nullptr},
    {"max", PlanReduction, nullptr},
    {"any", PlanReduction, nullptr},
    {"all", PlanReduction, nullptr},
    {"count_nonzero", PlanReduction, nullptr},
    {"argmin", PlanReduction, nullptr},
    {"argmax", PlanReduction, nullptr},
    {"cumulative_sum", PlanScan, nullptr},
    {"cumulative_prod", PlanScan, nullptr},
    {"sort", PlanSort, nullptr, "sort"},
    {"argsort", PlanArgsort, nullptr, "sort"},
    {"msm_combine", PlanUnits, nullptr, "msm"},
    {"msm_digits", PlanMsmDigits, nullptr, "msm"},
    {"msm_windows", PlanMsm, nullptr, "msm"},
};
constexpr Plans kUnits = {nullptr, PlanUnits, PlanOneThread};
constexpr Plans kElements = {nullptr, PlanElementwise, PlanOneThread};

constexpr Plans PlansOf(const char* kernel, const char* module) {
  for (const Plans& own : kOwnPlans) {
    if (Same(own.kernel, kernel)) return own;
  }
  // Those of words; the field module has some of larger elements, a unit a thread.
  const bool moves = Same(module, "words") && (Same(kernel, "copy") || Same(kernel, "fill"));
  return moves || Same(module, "elementwise") ? kElements : kUnits;
}

constexpr const char* ModuleOf(const char* kernel, const char* module) {
  const char* own = PlansOf(kernel, module).module;
  return own == nullptr ? module : own;
}

// Modules whose functions have others that run many of their grids: those with CW_CUDA_MANY.
constexpr bool HasMany(const char* module) {
  return Same(module, "modular") || Same(module, "ntt") || Same(module, "rns") ||
         Same(module, "words");
}

constexpr uint32_t kPreference = 64;

constexpr cw_kernel_row RowOf(const char* kernel, const char* symbol, uint32_t in, uint32_t out,
                              uint32_t bytes, const Derived& derived) {
  return {kernel,      symbol,  0,       in,
          out,         bytes,   derived.constant_operands, derived.prepared_axis,
          kPreference, nullptr, derived.scratch_bytes,     derived.prepared_bytes,
          nullptr};
}

#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                      \
  {RowOf(#kernel, #kernel "_" #suffix "_cuda", Element<In>::kDtype,                \
         Element<Out>::kDtype, Element<Out>::kBytes, derived),                     \
   ModuleOf(#kernel, CW_MODULE),                                                   \
   "cw_" #kernel "_" #suffix "_cuda",                                              \
   HasMany(CW_MODULE) ? "cw_" #kernel "_" #suffix "_cuda_many" : nullptr,          \
   derived.prepare == nullptr ? nullptr : "cw_prepare_" #derived,                  \
   PlansOf(#kernel, CW_MODULE).plan,                                               \
   derived.prepare == nullptr ? nullptr : PlansOf(#kernel, CW_MODULE).plan_prepare},
#define CW_PORTABLE_KERNEL CW_KERNEL

// Not constexpr: with sanitizers g++ takes no comparison of a function's address for a constant.
const cw_cuda_row kRows[] = {
#define CW_MODULE "contents"
#include "kernels/contents/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "creation"
#include "kernels/creation/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "curve"
#include "kernels/curve/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "elementwise"
#include "kernels/elementwise/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "field"
#include "kernels/field/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "hash"
#include "kernels/hash/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "linear"
#include "kernels/linear/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "poly"
#include "kernels/poly/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "reduction"
#include "kernels/reduction/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "sorting"
#include "kernels/sorting/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "words"
#include "kernels/gadget/kernels.inc"
#include "kernels/layout/kernels.inc"
#include "kernels/rlwe/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "modular"
#include "kernels/modular/kernels.inc"
#include "kernels/modular/products.inc"
#undef CW_MODULE
#define CW_MODULE "ntt"
#include "kernels/ntt/kernels.inc"
#undef CW_MODULE
#define CW_MODULE "rns"
#include "kernels/rns/kernels.inc"
#undef CW_MODULE
};

constexpr uint64_t kLayout[] = {
    CW_CUDA_ABI,
    CW_CUDA_OPERANDS,
    CW_CUDA_WORDS,
    CW_CUDA_GRIDS,
    sizeof(cw_cuda_launch),
    offsetof(cw_cuda_launch, rank),
    offsetof(cw_cuda_launch, operands),
    offsetof(cw_cuda_launch, params),
    offsetof(cw_cuda_launch, blocks),
    offsetof(cw_cuda_launch, data),
    offsetof(cw_cuda_launch, prepared),
    offsetof(cw_cuda_launch, spilled),
    offsetof(cw_cuda_launch, failed),
    offsetof(cw_cuda_launch, words),
    sizeof(cw_cuda_grid),
    offsetof(cw_cuda_grid, module),
    offsetof(cw_cuda_grid, symbol),
    offsetof(cw_cuda_grid, many),
    offsetof(cw_cuda_grid, argument),
    offsetof(cw_cuda_grid, blocks),
    offsetof(cw_cuda_grid, threads),
    offsetof(cw_cuda_grid, shared_bytes),
    sizeof(cw_cuda_member),
    offsetof(cw_cuda_member, rank),
    offsetof(cw_cuda_member, operands),
    offsetof(cw_cuda_member, data),
    offsetof(cw_cuda_member, prepared),
    offsetof(cw_cuda_member, words),
    offsetof(cw_cuda_member, units),
    offsetof(cw_cuda_member, argument),
    offsetof(cw_cuda_member, memory),
    offsetof(cw_cuda_member, blocks),
    sizeof(cw_cuda_plan),
    offsetof(cw_cuda_plan, scratch_bytes),
    offsetof(cw_cuda_plan, count),
    offsetof(cw_cuda_plan, grids),
    sizeof(cw_cuda_limits),
    offsetof(cw_cuda_limits, multiprocessors),
    offsetof(cw_cuda_limits, shared_bytes),
    offsetof(cw_cuda_limits, scratch_bytes),
    sizeof(cw_cuda_row),
    offsetof(cw_cuda_row, row),
    offsetof(cw_cuda_row, module),
    offsetof(cw_cuda_row, function),
    offsetof(cw_cuda_row, many),
    offsetof(cw_cuda_row, prepare_function),
    offsetof(cw_cuda_row, plan),
    offsetof(cw_cuda_row, plan_prepare),
};

}  // namespace
}  // namespace cw

extern "C" {
const cw_cuda_row* cw_cuda_kernels(uint64_t* count) {
  *count = sizeof cw::kRows / sizeof cw::kRows[0];
  return cw::kRows;
}

const uint64_t* cw_cuda_layout(uint64_t* count) {
  *count = sizeof cw::kLayout / sizeof cw::kLayout[0];
  return cw::kLayout;
}
}
