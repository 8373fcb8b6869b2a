// For NVRTC, which knows the types without a header.
#ifndef CLOAKWORK_CUDA_STDDEF_H_
#define CLOAKWORK_CUDA_STDDEF_H_

typedef unsigned long size_t;
#endif  // CLOAKWORK_CUDA_STDDEF_H_
