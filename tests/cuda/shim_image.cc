// The rows of the build on the made-up libcuda: their kernels, compiled for the processor with
// cuda/shim. CLOAKWORK_CUDA_KERNELS names the library; scripts/dev/cuda_driver.py makes it.
#include <dlfcn.h>
#include <string.h>

#include <mutex>
#include <set>
#include <string>

#include "cloakwork/cuda.h"
#include "image.h"

extern "C" int cw_shim_launch(const cw_cuda_grid* grid, const cw_cuda_launch* launch,
                              uint64_t units, unsigned char* memory);

namespace {

// A kernel is its name, which stays.
void* Find(const char* symbol) {
  static std::mutex lock;
  static std::set<std::string> names;
  std::lock_guard<std::mutex> locked(lock);
  if (dlsym(RTLD_NEXT, symbol) == nullptr) return nullptr;
  return const_cast<char*>(names.insert(symbol).first->c_str());
}

void Run(void* kernel, const uint32_t* blocks, uint32_t threads, void** params) {
  cw_cuda_grid grid = {};
  grid.symbol = static_cast<const char*>(kernel);
  memcpy(&grid.argument, params[2], sizeof grid.argument);
  memcpy(grid.blocks, blocks, sizeof grid.blocks);
  grid.threads = threads;
  uint64_t units = 0;
  unsigned char* memory = nullptr;
  memcpy(&units, params[1], sizeof units);
  memcpy(&memory, params[3], sizeof memory);
  cw_shim_launch(&grid, static_cast<const cw_cuda_launch*>(params[0]), units, memory);
}

const cw_made_up_image kImage = {{'m', 'a', 'd', 'e', 'u', 'p', 'c', 'w'}, Find, Run};
const char* const kModules[] = {MADE_UP_MODULES};

}  // namespace

extern "C" const void* cw_cuda_module(const char* name, uint64_t* bytes) {
  *bytes = sizeof kImage;
  for (const char* own : kModules) {
    if (strcmp(own, name) == 0) return &kImage;
  }
  return nullptr;
}
