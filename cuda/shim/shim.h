// CUDA's words for a compiler of the processor: each .cu file becomes host code, which shim.cc runs
// grid by grid, so that kernels are tested without a GPU. Included before every .cu file.
#ifndef CLOAKWORK_CUDA_SHIM_H_
#define CLOAKWORK_CUDA_SHIM_H_

#include <stdint.h>

#define __global__
#define __device__
#define __grid_constant__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define CW_CUDA 1
#define CW_CUDA_SHIM 1

struct ShimIndex {
  uint32_t x, y, z;
};

// Of the thread that runs; shim.cc sets them.
extern thread_local ShimIndex threadIdx, blockIdx, blockDim, gridDim;
extern thread_local unsigned char* shim_shared;

// Waits until all threads of the block are here.
void __syncthreads();
// As __syncthreads, and returns whether `predicate` is true for all threads.
int __syncthreads_and(int predicate);

// Orders what other processors see.
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  return (uint64_t)((unsigned __int128)a * b >> 64);
}

// The bits in reverse.
inline uint32_t __brev(uint32_t a) {
  a = __builtin_bswap32(a);
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  return (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
}

template <class T>
inline T atomicAdd(T* at, T value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

#endif  // CLOAKWORK_CUDA_SHIM_H_
