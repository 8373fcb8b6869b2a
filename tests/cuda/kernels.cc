// A library of kernels for the made-up libcuda: the processor's rows, one grid or two a launch, and
// the driver's own kernels, thread by thread.
//
// `made_up_rows` gives it the rows; with MADE_UP_OWN_ROWS it is linked with the archives of the
// processor's kernels, and has theirs. CLOAKWORK_CUDA_KERNELS names the library.
#include <stdlib.h>
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
std::vector<std::string> prepares, manies;

using Kernel = void (*)(cw_cuda_launch, uint64_t, uint64_t, unsigned char*);

enum class Does { kRow, kPrepare, kMany };

// A kernel: one of the driver's own, or a row of the processor, its prepare, or many of it.
struct Entry {
  Kernel kernel = nullptr;
  const cw_kernel_row* row = nullptr;
  Does does = Does::kRow;
};

std::map<std::string, Entry>& entries() {
  static std::map<std::string, Entry> all = {{"cw_cuda_check", {cw_cuda_check}},
                                             {"cw_cuda_inherit", {cw_cuda_inherit}},
                                             {"cw_cuda_next", {cw_cuda_next}},
                                             {"cw_cuda_upload", {cw_cuda_upload}}};
  return all;
}

cw_cuda_grid Grid(const cw_cuda_row* row, const char* symbol, const char* many,
                  uint64_t argument) {
  return {row->module, symbol, many, argument, {1 + (uint32_t)argument, 2, 1}, 32, 0};
}

// Launches of more than one unit are two grids: the second half, and then the first.
void Plan(const cw_cuda_row* row, const cw_launch* launch, uint64_t units, const cw_cuda_limits*,
          cw_cuda_plan* plan) {
  const auto size = row->row.scratch_bytes;
  plan->scratch_bytes = size == nullptr ? 0 : size(launch);
  plan->count = 0;
  if (units > 1) plan->grids[plan->count++] = Grid(row, row->function, row->many, 1);
  plan->grids[plan->count++] = Grid(row, row->function, row->many, 0);
}

void PlanPrepare(const cw_cuda_row* row, const cw_launch*, uint64_t, const cw_cuda_limits*,
                 cw_cuda_plan* plan) {
  plan->scratch_bytes = 0;
  plan->count = 1;
  plan->grids[0] = Grid(row, row->prepare_function, nullptr, 0);
}

// Runs a row of the processor over the units of a grid.
void RunUnits(const cw_kernel_row& row, const cw_launch& launch, uint64_t units,
              uint64_t argument, void* memory) {
  const uint64_t half = units / 2;
  row.run(&launch, argument == 1 ? half : 0, argument == 1 || units < 2 ? units : half, memory);
}

// The members of a grid of many, which has their blocks.
void RunMembers(const cw_kernel_row& row, const cw_cuda_launch& all, uint32_t blocks) {
  const auto* members = static_cast<const cw_cuda_member*>(all.data[0]);
  uint32_t first = 0;
  for (uint32_t i = 0; i < all.params; ++i) {
    const cw_cuda_member& own = members[i];
    if (all.words[i] != first) abort();
    first += own.blocks[0] * own.blocks[1];
    const int64_t* strides = own.words + own.rank;
    const int64_t* params = strides + (size_t)own.rank * own.operands;
    const cw_launch launch = {own.rank, own.operands, own.words,   strides,
                              own.data, params,       own.prepared};
    RunUnits(row, launch, own.units, own.argument, own.memory);
  }
  if (first != blocks) abort();
}

// Runs a row of the processor over the units of a grid, many of them, or its prepare.
void RunRow(const Entry& entry, const cw_cuda_launch& own, uint64_t units, uint64_t argument,
            unsigned char* memory, uint32_t blocks) {
  if (*own.failed != 0) return;
  if (entry.does == Does::kMany) return RunMembers(*entry.row, own, blocks);
  const int64_t* words = own.spilled == nullptr ? own.words : own.spilled;
  cw_launch launch;
  launch.rank = own.rank;
  launch.operands = own.operands;
  launch.dims = words;
  launch.strides = launch.dims + own.rank;
  launch.data = own.data;
  launch.params = launch.strides + own.rank * own.operands;
  launch.prepared = own.blocks == 0 ? own.prepared : launch.params + own.params;
  if (entry.does == Does::kPrepare) {
    entry.row->prepare(&launch, memory);
    return;
  }
  RunUnits(*entry.row, launch, units, argument, memory);
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
  if (entry.row != nullptr) return RunRow(entry, launch, units, argument, memory, blocks[0]);
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
  for (const cw_kernel_row& row : rows) {
    prepares.push_back(std::string("prepare_") + row.symbol);
    manies.push_back(std::string("many_") + row.symbol);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool prepares_some = rows[i].prepare != nullptr;
    cw_cuda_row row = {rows[i],
                       i % 2 == 0 ? "even" : "odd",
                       rows[i].symbol,
                       manies[i].c_str(),
                       prepares_some ? prepares[i].c_str() : nullptr,
                       Plan,
                       prepares_some ? PlanPrepare : nullptr};
    row.row.run = nullptr;
    row.row.prepare = nullptr;
    cuda_rows.push_back(row);
    entries()[rows[i].symbol] = {nullptr, &rows[i], Does::kRow};
    entries()[prepares[i]] = {nullptr, &rows[i], Does::kPrepare};
    entries()[manies[i]] = {nullptr, &rows[i], Does::kMany};
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
