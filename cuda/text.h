// Comparison of names. Kernels' archives call no function of libc.
#ifndef CLOAKWORK_CUDA_TEXT_H_
#define CLOAKWORK_CUDA_TEXT_H_

inline bool IsSameText(const char* a, const char* b) {
  while (*a != 0 && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

#endif  // CLOAKWORK_CUDA_TEXT_H_
