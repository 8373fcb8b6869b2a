// For NVRTC, which knows the functions of C's library without a header.
#ifndef CLOAKWORK_CUDA_MATH_H_
#define CLOAKWORK_CUDA_MATH_H_

#endif  // CLOAKWORK_CUDA_MATH_H_
