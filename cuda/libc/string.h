// The functions on bytes that kernels use and NVRTC lacks: it has memcpy and memset.
#ifndef CLOAKWORK_CUDA_STRING_H_
#define CLOAKWORK_CUDA_STRING_H_

inline int memcmp(const void* a, const void* b, unsigned long count) {
  const unsigned char* x = static_cast<const unsigned char*>(a);
  const unsigned char* y = static_cast<const unsigned char*>(b);
  for (unsigned long i = 0; i < count; ++i) {
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return 0;
}

#endif  // CLOAKWORK_CUDA_STRING_H_
