// base_convert: a thread a coefficient. Its digits stay in shared memory while the sums of all
// result limbs read them.
#define CW_CUDA_MANY
#include "cuda/kernels/spaces.cuh"
#include "kernels/rns/base_plan.h"
#include "kernels/rns/derived.h"
#include "kernels/rns/prepare.cc"

namespace cw {
namespace {

// y = (a factor + half) mod q.
CW_INLINE u64 DigitOf(i64 word, const BaseInput& input, bool scaled) {
  const u64 q = input.m.q;
  const u64 a = (u64)word < q ? (u64)word : CanonicalRemainder(word, q);
  u64 y = a;
  if (scaled) {
    const U64x1 lazy = MulShoupLazy(U64x1{a}, U64x1{input.factor}, U64x1{input.factor_shoup},
                                    U64x1{q});
    y = SubIfAtLeast(lazy, U64x1{q}).v;
  }
  return SubIfAtLeast(U64x1{y + input.half}, U64x1{q}).v;
}

template <class T>
CW_INLINE void ConvertBase(const cw_launch& launch, u64 units, bool by_rows, const Grid& grid,
                           u64* shared) {
  const BasePlan plan(launch);
  void* prepared = const_cast<void*>(launch.prepared);
  const bool scaled = BasePlan::Header(prepared)->scaled != 0;
  const BaseInput* inputs = BasePlan::Inputs(prepared);
  const BaseOutput* outputs = plan.Outputs(prepared);
  const u32 rank = launch.rank - 2;
  const i64 a_limb = Strides(launch, 1)[rank], out_limb = Strides(launch, 0)[rank + 1];
  const i64* strides[2] = {Strides(launch, 0), Strides(launch, 1)};
  u64* y = shared + threadIdx.x;
  const u64 step = blockDim.x;
  ForEachPlace(grid, rank, launch.dims, strides, units, by_rows, [&](const i64* at) {
    const T* a = Data<const T>(launch, 1) + at[1];
    for (u64 i = 0; i < plan.inputs; ++i) {
      y[i * step] = DigitOf((i64)a[(i64)i * a_limb], inputs[i], scaled);
    }
    T* out = Data<T>(launch, 0) + at[0];
    for (u64 j = 0; j < plan.outputs; ++j) {
      const u64* hat = plan.Hat(prepared, j);
      const SumModulus& m = outputs[j].m;
      u128 sum = outputs[j].start;
      for (u64 i = 0; i < plan.inputs;) {
        for (const u64 stop = Min(plan.inputs, i + kSumTerms); i < stop; ++i) {
          sum += (u128)y[i * step] * hat[i];
        }
        sum = ReduceWide(U64x1{(u64)(sum >> 64)}, U64x1{(u64)sum}, m).v;
      }
      out[(i64)j * out_limb] = (T)(u64)sum;
    }
  });
}

}  // namespace
}  // namespace cw

#define CW_BASE_CONVERT(suffix, T)                           \
  CW_CUDA_FUNCTION(cw_base_convert_##suffix##_cuda) {        \
    CW_CUDA_SHARED(shared);                                  \
    using namespace cw;                                      \
    ConvertBase<T>(own, units, argument != 0, grid, shared); \
  }
CW_BASE_CONVERT(i32, int32_t)
CW_BASE_CONVERT(i64, int64_t)

CW_CUDA_PREPARE(kBaseI32)
CW_CUDA_PREPARE(kBaseI64)
