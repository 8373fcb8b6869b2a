// What every CUDA source file includes first: a launch as kernels read it, and the macros of rows.
#ifndef CLOAKWORK_CUDA_KERNELS_KERNEL_H_
#define CLOAKWORK_CUDA_KERNELS_KERNEL_H_

#include "cloakwork/cuda.h"
#include "kernels/derived.h"
#include "kernels/simd/u64x1.h"

// A __global__ function, whose body follows; cuda.h says what its parameters are. It does nothing
// in a queue that has failed.
#define CW_CUDA_FUNCTION(name)                                                                  \
  static __device__ void name##_run(const cw_cuda_launch& launch, uint64_t units,               \
                                    uint64_t argument, unsigned char* memory);                  \
  extern "C" __global__ void name(const __grid_constant__ cw_cuda_launch launch, uint64_t units, \
                                  uint64_t argument, unsigned char* memory) {                   \
    if (*launch.failed == 0) name##_run(launch, units, argument, memory);                       \
  }                                                                                             \
  static __device__ CW_INLINE void name##_run(const cw_cuda_launch& launch, uint64_t units,     \
                                              uint64_t argument, unsigned char* memory)

// The dynamic shared memory of a block, as 64-bit words.
#if defined(CW_CUDA_SHIM)
#define CW_CUDA_SHARED(name) cw::u64* name = reinterpret_cast<cw::u64*>(shim_shared)
#else
#define CW_CUDA_SHARED(name) extern __shared__ unsigned long name[]
#endif

namespace cw {
namespace {

// A launch as the processor's kernels take it. It borrows from its parameter.
CW_INLINE cw_launch LaunchOf(const cw_cuda_launch& launch) {
  const int64_t* words = launch.spilled != nullptr ? launch.spilled : launch.words;
  const int64_t* strides = words + launch.rank;
  const int64_t* params = strides + (u64)launch.rank * launch.operands;
  const void* prepared = launch.blocks != 0 ? params + launch.params : launch.prepared;
  return {launch.rank, launch.operands, words, strides, launch.data, params, prepared};
}

CW_INLINE u64 ThreadIndex() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
CW_INLINE u64 ThreadCount() { return (u64)gridDim.x * blockDim.x; }

}  // namespace
}  // namespace cw

// Each thread runs units of the processor's portable kernel, one after another, with its own
// scratch memory of `argument` bytes. The plan: PlanUnits.
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)             \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) {                       \
    using namespace cw;                                                   \
    const cw_launch own = LaunchOf(launch);                               \
    unsigned char* scratch = memory + ThreadIndex() * argument;           \
    for (u64 unit = ThreadIndex(); unit < units; unit += ThreadCount()) { \
      Function<U64x1, In, Out>(own, unit, unit + 1, scratch);             \
    }                                                                     \
  }
#define CW_PORTABLE_KERNEL CW_KERNEL

// One thread runs the processor's prepare. The plan: PlanOneThread.
#define CW_CUDA_PREPARE(derived)                          \
  CW_CUDA_FUNCTION(cw_prepare_##derived) {           \
    using namespace cw;                              \
    const cw_launch own = LaunchOf(launch);          \
    if (ThreadIndex() == 0) derived.prepare(&own, memory); \
  }

#endif  // CLOAKWORK_CUDA_KERNELS_KERNEL_H_
