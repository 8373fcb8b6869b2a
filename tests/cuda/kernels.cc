// A library of kernels for the made-up libcuda: the processor's rows, one grid or two a launch, and
// the driver's own kernels, thread by thread.
//
// `made_up_rows` gives it the rows; with MADE_UP_OWN_ROWS it is linked with the archives of the
// processor's kernels, and has theirs. CLOAKWORK_CUDA_KERNELS names the library.
#include <string.h>

#include <map>
#include <string>
#include <vector>

#define __global__
#define __device__
struct Index {
  uint32_t x, y, z;
};
static thread_local Index gridDim, blockDim, blockIdx, threadIdx;
static void __threadfence_system() {}

#include "../../cuda/driver/queue.cu"
#include "image.h"

namespace {

std::vector<cw_kernel_row> rows;
std::vector<cw_cuda_row> cuda_rows;
std::vector<std::string> prepares;

using Kernel = void (*)(cw_cuda_launch, uint64_t, uint64_t, unsigned char*);

// A kernel: one of the driver's own, or a row of the processor, or its prepare.
struct Entry {
  Kernel kernel = nullptr;
  const cw_kernel_row* row = nullptr;
  bool is_prepare = false;
};

std::map<std::string, Entry>& entries() {
  static std::map<std::string, Entry> all = {{"cw_cuda_check", {cw_cuda_check}},
                                             {"cw_cuda_inherit", {cw_cuda_inherit}},
                                             {"cw_cuda_next", {cw_cuda_next}},
                                             {"cw_cuda_upload", {cw_cuda_upload}}};
  return all;
}

cw_cuda_grid Grid(const cw_cuda_row* row, const char* symbol, uint64_t argument) {
  return {row->module, symbol, argument, {1, 1, 1}, 32, 0};
}

// Launches of more than one unit are two grids: the second half, and then the first.
void Plan(const cw_cuda_row* row, const cw_launch* launch, uint64_t units, const cw_cuda_limits*,
          cw_cuda_plan* plan) {
  const auto size = row->row.scratch_bytes;
  plan->scratch_bytes = size == nullptr ? 0 : size(launch);
  plan->count = 0;
  if (units > 1) plan->grids[plan->count++] = Grid(row, row->function, 1);
  plan->grids[plan->count++] = Grid(row, row->function, 0);
}

void PlanPrepare(const cw_cuda_row* row, const cw_launch*, uint64_t, const cw_cuda_limits*,
                 cw_cuda_plan* plan) {
  plan->scratch_bytes = 0;
  plan->count = 1;
  plan->grids[0] = Grid(row, row->prepare_function, 0);
}

// Runs a row of the processor over the units of a grid, or its prepare.
void RunRow(const Entry& entry, const cw_cuda_launch& own, uint64_t units, uint64_t argument,
            unsigned char* memory) {
  if (*own.failed != 0) return;
  const int64_t* words = own.spilled == nullptr ? own.words : own.spilled;
  cw_launch launch;
  launch.rank = own.rank;
  launch.operands = own.operands;
  launch.dims = words;
  launch.strides = launch.dims + own.rank;
  launch.data = own.data;
  launch.params = launch.strides + own.rank * own.operands;
  launch.prepared = own.blocks == 0 ? own.prepared : launch.params + own.params;
  if (entry.is_prepare) {
    entry.row->prepare(&launch, memory);
    return;
  }
  const uint64_t half = units / 2;
  entry.row->run(&launch, argument == 1 ? half : 0, argument == 1 || units < 2 ? units : half,
                 memory);
}

void* Find(const char* symbol) {
  const auto found = entries().find(symbol);
  return found == entries().end() ? nullptr : &found->second;
}

void Run(void* kernel, const uint32_t* blocks, uint32_t threads, void** params) {
  const Entry& entry = *static_cast<Entry*>(kernel);
  const auto& launch = *static_cast<cw_cuda_launch*>(params[0]);
  const uint64_t units = *static_cast<uint64_t*>(params[1]);
  const uint64_t argument = *static_cast<uint64_t*>(params[2]);
  auto* memory = *static_cast<unsigned char**>(params[3]);
  if (entry.row != nullptr) return RunRow(entry, launch, units, argument, memory);
  gridDim = {blocks[0], blocks[1], blocks[2]};
  blockDim = {threads, 1, 1};
  for (blockIdx = {0, 0, 0}; blockIdx.x < blocks[0]; ++blockIdx.x) {
    for (threadIdx = {0, 0, 0}; threadIdx.x < threads; ++threadIdx.x) {
      entry.kernel(launch, units, argument, memory);
    }
  }
}

const cw_made_up_image kImage = {{'m', 'a', 'd', 'e', 'u', 'p', 'c', 'w'}, Find, Run};

}  // namespace

extern "C" {

// The rows that its kernels run from here on. Called once, before the driver looks at the library.
void made_up_rows(const cw_kernel_row* all, uint64_t count) {
  rows.assign(all, all + count);
  for (const cw_kernel_row& row : rows) prepares.push_back(std::string("prepare_") + row.symbol);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool prepares_some = rows[i].prepare != nullptr;
    cw_cuda_row row = {rows[i],
                       i % 2 == 0 ? "even" : "odd",
                       rows[i].symbol,
                       prepares_some ? prepares[i].c_str() : nullptr,
                       Plan,
                       prepares_some ? PlanPrepare : nullptr};
    row.row.run = nullptr;
    row.row.prepare = nullptr;
    cuda_rows.push_back(row);
    entries()[rows[i].symbol] = {nullptr, &rows[i], false};
    entries()[prepares[i]] = {nullptr, &rows[i], true};
  }
}

const cw_cuda_row* cw_cuda_kernels(uint64_t* count) {
#ifdef MADE_UP_OWN_ROWS
  if (cuda_rows.empty()) {
    uint64_t own = 0;
    const cw_kernel_row* all = cw_cpu_kernels(&own);
    made_up_rows(all, own);
  }
#endif
  *count = cuda_rows.size();
  return cuda_rows.data();
}

const void* cw_cuda_module(const char* name, uint64_t* bytes) {
  const std::string own = name;
  *bytes = sizeof kImage;
  return own == "driver" || own == "even" || own == "odd" ? &kImage : nullptr;
}

}  // extern "C"
