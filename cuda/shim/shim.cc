// Runs the grids of kernels that shim.h turned into host code. Threads of a block are fibers, one
// after another: a fiber runs until it ends or waits at a barrier.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <memory>
#include <vector>

#include "cloakwork/cuda.h"
#include "cuda/shim/shim.h"

thread_local ShimIndex threadIdx, blockIdx, blockDim, gridDim;
thread_local unsigned char* shim_shared;

namespace {

using Kernel = void (*)(cw_cuda_launch, uint64_t, uint64_t, unsigned char*);

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kSharedBytes = 232448;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<unsigned char[]> stack{new unsigned char[kStackBytes]};
  bool is_done;
  int predicate;
};

struct Block {
  Kernel kernel;
  const cw_cuda_launch* launch;
  uint64_t units, argument;
  unsigned char* memory;
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  size_t running;
  int all;  // of the predicates of the last barrier
};
thread_local Block block;

void Enter() {
  block.kernel(*block.launch, block.units, block.argument, block.memory);
  block.fibers[block.running].is_done = true;
}

// Runs every fiber to its next barrier or its end. Returns how many wait at a barrier.
size_t Round(size_t threads) {
  size_t waiting = 0;
  for (size_t i = threads; i-- > 0;) {
    Fiber& fiber = block.fibers[i];
    if (fiber.is_done) continue;
    block.running = i;
    threadIdx = {(uint32_t)i, 0, 0};
    swapcontext(&block.scheduler, &fiber.context);
    waiting += !fiber.is_done;
  }
  return waiting;
}

void RunBlock(size_t threads) {
  if (block.fibers.size() < threads) block.fibers.resize(threads);
  for (size_t i = 0; i < threads; ++i) {
    Fiber& fiber = block.fibers[i];
    fiber.is_done = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack = {fiber.stack.get(), 0, kStackBytes};
    fiber.context.uc_link = &block.scheduler;
    makecontext(&fiber.context, Enter, 0);
  }
  for (size_t waiting = threads; waiting != 0;) {
    waiting = Round(threads);
    if (waiting != 0 && waiting != threads) {
      fprintf(stderr, "shim: %zu of %zu threads wait at a barrier\n", waiting, threads);
      abort();
    }
    block.all = 1;
    for (size_t i = 0; i < threads; ++i) block.all &= block.fibers[i].predicate != 0;
  }
}

}  // namespace

int __syncthreads_and(int predicate) {
  Fiber& fiber = block.fibers[block.running];
  fiber.predicate = predicate;
  swapcontext(&fiber.context, &block.scheduler);
  return block.all;
}

void __syncthreads() { __syncthreads_and(1); }

// Runs one grid; memory is the processor's. Returns 0, or 1 if there is no such kernel.
extern "C" __attribute__((visibility("default"))) int cw_shim_launch(const cw_cuda_grid* grid,
                                                                     const cw_cuda_launch* launch,
                                                                     uint64_t units,
                                                                     unsigned char* memory) {
  static void* const self = [] {
    Dl_info info;
    dladdr((void*)&cw_shim_launch, &info);
    return dlopen(info.dli_fname, RTLD_LAZY);
  }();
  const auto kernel = (Kernel)dlsym(self, grid->symbol);
  if (kernel == nullptr || grid->shared_bytes > kSharedBytes) return 1;
  std::unique_ptr<unsigned char[]> shared(new unsigned char[kSharedBytes]);
  shim_shared = shared.get();
  block.kernel = kernel;
  block.launch = launch, block.units = units, block.argument = grid->argument;
  block.memory = memory;
  gridDim = {grid->blocks[0], grid->blocks[1], grid->blocks[2]};
  blockDim = {grid->threads, 1, 1};
  // The last first, here and in Round: what depends on the order of threads gives other results
  // than the portable rows, which go from the first to the last.
  for (uint32_t z = gridDim.z; z-- > 0;) {
    for (uint32_t y = gridDim.y; y-- > 0;) {
      for (uint32_t x = gridDim.x; x-- > 0;) {
        blockIdx = {x, y, z};
        RunBlock(grid->threads);
      }
    }
  }
  return 0;
}
