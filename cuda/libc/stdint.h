// The integer types of C for NVRTC, which has no headers of a system.
#ifndef CLOAKWORK_CUDA_STDINT_H_
#define CLOAKWORK_CUDA_STDINT_H_

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;

#define INT32_MIN (-2147483647 - 1)
#define INT64_MAX 0x7fffffffffffffffL
#define INT64_MIN (-INT64_MAX - 1)
#define UINT64_MAX 0xffffffffffffffffUL

#endif  // CLOAKWORK_CUDA_STDINT_H_
