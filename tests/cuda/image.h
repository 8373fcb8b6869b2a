// What the made-up libcuda takes for a fatbin: kernels that the processor runs.
#ifndef CLOAKWORK_TESTS_CUDA_IMAGE_H_
#define CLOAKWORK_TESTS_CUDA_IMAGE_H_

#include <stdint.h>

typedef struct cw_made_up_image {
  char magic[8];                       // "madeupcw"
  void* (*find)(const char* symbol);   // the kernel of a name, or null
  // Runs a grid. `params` are those of cuLaunchKernel.
  void (*run)(void* kernel, const uint32_t* blocks, uint32_t threads, void** params);
} cw_made_up_image;

#endif  // CLOAKWORK_TESTS_CUDA_IMAGE_H_
