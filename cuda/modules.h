// The fatbins of a build as bytes of its library: build.rs writes a file of these macros.
#ifndef CLOAKWORK_CUDA_MODULES_H_
#define CLOAKWORK_CUDA_MODULES_H_

#include "cloakwork/cuda.h"
#include "cuda/text.h"

// Puts a file into the library, as bytes between two symbols.
#define CW_FATBIN(number, path)                                                          \
  __asm__(".section .rodata\n.balign 64\n.global cw_fatbin_" #number "\ncw_fatbin_" #number \
          ":\n.incbin \"" path "\"\n.global cw_fatbin_end_" #number "\ncw_fatbin_end_" #number \
          ":\n.byte 0\n.text\n");                                                        \
  extern "C" __attribute__((visibility("hidden"))) const char cw_fatbin_##number[];      \
  extern "C" __attribute__((visibility("hidden"))) const char cw_fatbin_end_##number[];

// In the body of cw_cuda_module: gives the fatbin where `name` is that of its module.
#define CW_FATBIN_NAMED(number, text)                                    \
  if (IsSameText(name, text)) {                                          \
    *bytes = (uint64_t)(cw_fatbin_end_##number - cw_fatbin_##number);    \
    return cw_fatbin_##number;                                           \
  }

#endif  // CLOAKWORK_CUDA_MODULES_H_
