// What every CUDA source file includes first: a launch as kernels read it, and the macros of rows.
#ifndef CLOAKWORK_CUDA_KERNELS_KERNEL_H_
#define CLOAKWORK_CUDA_KERNELS_KERNEL_H_

#include "cloakwork/cuda.h"
#include "kernels/derived.h"
#include "kernels/simd/u64x1.h"

namespace cw {
namespace {

// The grid of a launch, and the block of it that a thread belongs to.
struct Grid {
  u32 x, y;           // of the block
  u32 columns, rows;  // of blocks

  static CW_INLINE Grid Own() { return {blockIdx.x, blockIdx.y, gridDim.x, gridDim.y}; }
};

CW_INLINE u64 ThreadIndex(const Grid& grid) { return (u64)grid.x * blockDim.x + threadIdx.x; }
CW_INLINE u64 ThreadCount(const Grid& grid) { return (u64)grid.columns * blockDim.x; }
CW_INLINE u64 ThreadIndex() { return ThreadIndex(Grid::Own()); }
CW_INLINE u64 ThreadCount() { return ThreadCount(Grid::Own()); }

// A launch as the processor's kernels take it. It borrows from its parameter.
CW_INLINE cw_launch LaunchOf(const cw_cuda_launch& launch) {
  const int64_t* words = launch.spilled != nullptr ? launch.spilled : launch.words;
  const int64_t* strides = words + launch.rank;
  const int64_t* params = strides + (u64)launch.rank * launch.operands;
  const void* prepared = launch.blocks != 0 ? params + launch.params : launch.prepared;
  return {launch.rank, launch.operands, words, strides, launch.data, params, prepared};
}

CW_INLINE cw_launch LaunchOf(const cw_cuda_member& own) {
  const int64_t* strides = own.words + own.rank;
  const int64_t* params = strides + (u64)own.rank * own.operands;
  return {own.rank, own.operands, own.words, strides, own.data, params, own.prepared};
}

// The member of a grid of many that a block belongs to.
CW_INLINE const cw_cuda_member& MemberOf(const cw_cuda_launch& launch, Grid* grid) {
  u32 member = 0;
  for (u32 end = launch.params; end - member > 1;) {
    const u32 middle = member + (end - member) / 2;
    if (launch.words[middle] <= (i64)blockIdx.x) {
      member = middle;
    } else {
      end = middle;
    }
  }
  const cw_cuda_member& own = static_cast<const cw_cuda_member*>(launch.data[0])[member];
  const u32 block = blockIdx.x - (u32)launch.words[member];
  *grid = {block % own.blocks[0], block / own.blocks[0], own.blocks[0], own.blocks[1]};
  return own;
}

}  // namespace
}  // namespace cw

#define CW_CUDA_BODY(name)                                                              \
  static __device__ CW_INLINE void name##_run(const cw_launch& own, uint64_t units,     \
                                              uint64_t argument, unsigned char* memory, \
                                              const cw::Grid& grid)

// A __global__ function of one launch, whose body follows; cuda.h says what its parameters are. It
// does nothing in a queue that has failed.
#define CW_CUDA_ALONE(name)                                                                      \
  CW_CUDA_BODY(name);                                                                            \
  extern "C" __global__ void name(const __grid_constant__ cw_cuda_launch launch, uint64_t units, \
                                  uint64_t argument, unsigned char* memory) {                    \
    if (*launch.failed != 0) return;                                                             \
    name##_run(cw::LaunchOf(launch), units, argument, memory, cw::Grid::Own());                  \
  }                                                                                              \
  CW_CUDA_BODY(name)

// The same, and a function that runs many such grids at once, in modules that define CW_CUDA_MANY.
// The body asks `grid` for its block, and not CUDA.
#if defined(CW_CUDA_MANY)
#define CW_CUDA_FUNCTION(name)                                                                    \
  CW_CUDA_BODY(name);                                                                             \
  extern "C" __global__ void name##_many(const __grid_constant__ cw_cuda_launch launch, uint64_t, \
                                         uint64_t, unsigned char*) {                              \
    if (*launch.failed != 0) return;                                                              \
    cw::Grid grid;                                                                                \
    const cw_cuda_member& own = cw::MemberOf(launch, &grid);                                      \
    name##_run(cw::LaunchOf(own), own.units, own.argument, own.memory, grid);                     \
  }                                                                                               \
  CW_CUDA_ALONE(name)
#else
#define CW_CUDA_FUNCTION CW_CUDA_ALONE
#endif

// The dynamic shared memory of a block, as 64-bit words.
#if defined(CW_CUDA_SHIM)
#define CW_CUDA_SHARED(name) cw::u64* name = reinterpret_cast<cw::u64*>(shim_shared)
#else
#define CW_CUDA_SHARED(name) extern __shared__ unsigned long name[]
#endif

// Each thread runs units of the processor's portable kernel, one after another, with its own
// scratch memory of `argument` bytes. The plan: PlanUnits.
#define CW_KERNEL(kernel, suffix, Function, In, Out, derived)                     \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) {                               \
    using namespace cw;                                                           \
    unsigned char* scratch = memory + ThreadIndex(grid) * argument;               \
    for (u64 unit = ThreadIndex(grid); unit < units; unit += ThreadCount(grid)) { \
      Function<U64x1, In, Out>(own, unit, unit + 1, scratch);                     \
    }                                                                             \
  }
#define CW_PORTABLE_KERNEL CW_KERNEL

// One thread runs the processor's prepare. The plan: PlanOneThread.
#define CW_CUDA_PREPARE(derived)                                   \
  CW_CUDA_ALONE(cw_prepare_##derived) {                            \
    if (cw::ThreadIndex() == 0) cw::derived.prepare(&own, memory); \
  }

#endif  // CLOAKWORK_CUDA_KERNELS_KERNEL_H_
