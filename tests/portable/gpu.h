// Grids on a GPU by the driver's library, for replay_cuda.cc: memory that kernels and this program
// share, and a launch that is waited for. An error of CUDA ends the program, because the context is
// lost: its last line names the kernel row, the grid and the error.
#ifndef CLOAKWORK_TESTS_PORTABLE_GPU_H_
#define CLOAKWORK_TESTS_PORTABLE_GPU_H_

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <new>
#include <string>

#include "cloakwork/cuda.h"

namespace {

enum {
  kFailed = 3,  // exit status
  kAttachGlobal = 1,
  kDynamicShared = 8,  // attributes of functions and devices
  kMultiprocessors = 16,
  kSharedOptIn = 97,
};

// The row and the grid that an error is blamed on.
const char *the_row = "nothing", *the_grid = "";

struct Driver {
  int (*init)(unsigned);
  int (*attribute)(int*, int, int);
  int (*retain)(void**, int);
  int (*push)(void*);
  int (*error_name)(int, const char**);
  int (*allocate)(uint64_t*, size_t, unsigned);
  int (*free)(uint64_t);
  int (*load)(void**, const void*, unsigned, int*, void**);
  int (*function)(void**, void*, const char*);
  int (*set)(void*, int, int);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*stream)(void**, unsigned);
  int (*wait)(void*);
  void* queue;
};

[[noreturn]] void Fail(const char* call, const char* error) {
  printf("%s failed %s %s %s\n", the_row, call, error, the_grid);
  fflush(stdout);
  _Exit(kFailed);
}

void Check(const Driver& driver, const char* call, int code) {
  if (code == 0) return;
  const char* name = nullptr;
  const bool known = driver.error_name(code, &name) == 0 && name != nullptr;
  Fail(call, known ? name : std::to_string(code).c_str());
}

template <class F>
void Find(void* library, const char* name, F* found) {
  *found = reinterpret_cast<F>(dlsym(library, name));
  if (*found == nullptr) Fail(name, "missing");
}

const Driver& TheDriver() {
  static const Driver driver = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) Fail("dlopen", "libcuda.so.1");
    Driver own = {};
    Find(library, "cuInit", &own.init);
    Find(library, "cuDeviceGetAttribute", &own.attribute);
    Find(library, "cuDevicePrimaryCtxRetain", &own.retain);
    Find(library, "cuCtxPushCurrent_v2", &own.push);
    Find(library, "cuGetErrorName", &own.error_name);
    Find(library, "cuMemAllocManaged", &own.allocate), Find(library, "cuMemFree_v2", &own.free);
    Find(library, "cuModuleLoadDataEx", &own.load);
    Find(library, "cuModuleGetFunction", &own.function);
    Find(library, "cuFuncSetAttribute", &own.set), Find(library, "cuLaunchKernel", &own.launch);
    Find(library, "cuStreamCreate", &own.stream), Find(library, "cuStreamSynchronize", &own.wait);
    void* context = nullptr;
    Check(own, "cuInit", own.init(0));
    Check(own, "cuDevicePrimaryCtxRetain", own.retain(&context, 0));
    Check(own, "cuCtxPushCurrent", own.push(context));
    Check(own, "cuStreamCreate", own.stream(&own.queue, 0));
    return own;
  }();
  return driver;
}

uint32_t Attribute(int number) {
  int value = 0;
  Check(TheDriver(), "cuDeviceGetAttribute", TheDriver().attribute(&value, number, 0));
  return (uint32_t)value;
}

// Memory that this program and kernels read and write by the same address.
template <class T>
struct Shared {
  using value_type = T;
  Shared() = default;
  template <class U>
  Shared(const Shared<U>&) {}
  T* allocate(size_t count) {
    uint64_t at = 0;
    const Driver& driver = TheDriver();
    Check(driver, "cuMemAllocManaged", driver.allocate(&at, count * sizeof(T), kAttachGlobal));
    return reinterpret_cast<T*>(at);
  }
  void deallocate(T* at, size_t) { TheDriver().free(reinterpret_cast<uint64_t>(at)); }
  bool operator==(const Shared&) const { return true; }
  bool operator!=(const Shared&) const { return false; }
};

void* Module(const char* name) {
  static std::map<std::string, void*> modules;
  void*& module = modules[name];
  if (module != nullptr) return module;
  uint64_t bytes = 0;
  const void* image = cw_cuda_module(name, &bytes);
  if (image == nullptr) Fail("cw_cuda_module", name);
  Check(TheDriver(), "cuModuleLoadDataEx",
        TheDriver().load(&module, image, 0, nullptr, nullptr));
  return module;
}

// Runs one grid to its end.
void LaunchGrid(const cw_cuda_grid& grid, cw_cuda_launch launch, uint64_t units,
                unsigned char* memory) {
  const Driver& driver = TheDriver();
  the_grid = grid.symbol;
  void* function = nullptr;
  Check(driver, "cuModuleGetFunction",
        driver.function(&function, Module(grid.module), grid.symbol));
  if (grid.shared_bytes > 48 << 10)
    Check(driver, "cuFuncSetAttribute",
          driver.set(function, kDynamicShared, (int)grid.shared_bytes));
  uint64_t argument = grid.argument;
  void* params[] = {&launch, &units, &argument, &memory};
  const uint32_t* blocks = grid.blocks;
  Check(driver, "cuLaunchKernel",
        driver.launch(function, blocks[0], blocks[1], blocks[2], grid.threads, 1, 1,
                      grid.shared_bytes, driver.queue, params, nullptr));
  Check(driver, "cuStreamSynchronize", driver.wait(driver.queue));
}

}  // namespace

#endif  // CLOAKWORK_TESTS_PORTABLE_GPU_H_
