// Runs the CUDA rows on launches.h by the shim, or with CW_REPLAY_GPU on a GPU, and prints the
// lines that replay.cc prints. With `--module NAME` it runs the rows of a module, and with
// `--after SYMBOL` those behind a row; before each it says `symbol begins`, so that a reader knows
// which one never ended.
#include <algorithm>
#include <string>
#include <vector>

#include "cloakwork/cuda.h"
#ifdef CW_REPLAY_GPU
#include "gpu.h"
#define CW_REPLAY_ALLOCATOR Shared
#endif
#include "replay.h"

#ifndef CW_REPLAY_GPU
extern "C" int cw_shim_launch(const cw_cuda_grid* grid, const cw_cuda_launch* launch,
                              uint64_t units, unsigned char* memory);
#endif

namespace {

#ifdef CW_REPLAY_GPU
const cw_cuda_limits& Limits() {
  static const cw_cuda_limits limits = {Attribute(kMultiprocessors), Attribute(kSharedOptIn),
                                        4 << 20};
  return limits;
}
#else
// Two multiprocessors, so that small launches also step over their work; little scratch memory, so
// that plans must divide it.
const cw_cuda_limits& Limits() {
  static const cw_cuda_limits limits = {2, 232448, 4 << 20};
  return limits;
}

const char* the_row = "";

void LaunchGrid(const cw_cuda_grid& grid, const cw_cuda_launch& launch, uint64_t units,
                unsigned char* memory) {
  if (cw_shim_launch(&grid, &launch, units, memory) == 0) return;
  printf("%s cannot be launched: %s\n", the_row, grid.symbol);
}
#endif

// The row of the table that a kernel row is the first field of.
const cw_cuda_row& Whole(const cw_kernel_row& row) {
  return *reinterpret_cast<const cw_cuda_row*>(&row);
}

cw_cuda_launch ByValue(const cw_kernel_row& row, const cw_launch& launch, uint32_t params,
                       bool runs, Room<int64_t>& spilled) {
  static const Room<uint64_t> has_failed(1);
  cw_cuda_launch own = {};
  own.failed = has_failed.data();
  own.rank = launch.rank, own.operands = launch.operands, own.params = params;
  for (uint32_t i = 0; i < launch.operands; ++i) own.data[i] = launch.data[i];
  Words words(launch.dims, launch.dims + launch.rank);
  words.insert(words.end(), launch.strides, launch.strides + launch.rank * launch.operands);
  words.insert(words.end(), launch.params, launch.params + params);
  if (runs && row.prepared_axis != 0) {
    own.blocks = (uint32_t)launch.dims[row.prepared_axis - 1];
    const auto* blocks = static_cast<const int64_t*>(launch.prepared);
    words.insert(words.end(), blocks, blocks + own.blocks);
  } else {
    own.prepared = launch.prepared;
  }
  // Every other launch has its words in memory.
  static bool spill = false;
  spill = !spill;
  if (spill || words.size() > CW_CUDA_WORDS) {
    spilled.assign(words.begin(), words.end());
    own.spilled = spilled.data();
  } else {
    memcpy(own.words, words.data(), words.size() * sizeof(int64_t));
  }
  return own;
}

// A grid as the only member of a grid of many; every other one that can be.
void LaunchMember(const cw_cuda_grid& grid, const cw_cuda_launch& launch, uint64_t units,
                  unsigned char* memory) {
  const auto words = (uint64_t)launch.rank * (1 + launch.operands) + launch.params;
  Room<int64_t> own_words(launch.words, launch.words + CW_CUDA_WORDS);
  Room<cw_cuda_member> members(1);
  cw_cuda_member& own = members[0];
  own.rank = launch.rank, own.operands = launch.operands;
  memcpy(own.data, launch.data, sizeof own.data);
  own.words = launch.spilled != nullptr ? launch.spilled : own_words.data();
  own.prepared = launch.blocks != 0 ? own.words + words : launch.prepared;
  own.units = units, own.argument = grid.argument, own.memory = memory;
  own.blocks[0] = grid.blocks[0], own.blocks[1] = grid.blocks[1];
  cw_cuda_launch all = {};
  all.failed = launch.failed;
  all.params = 1;
  all.data[0] = members.data();
  cw_cuda_grid many = grid;
  many.symbol = grid.many;
  many.argument = 0;
  many.blocks[0] = grid.blocks[0] * grid.blocks[1], many.blocks[1] = 1;
  LaunchGrid(many, all, units, nullptr);
}

void RunPlan(const cw_cuda_plan& plan, const cw_cuda_launch& launch, uint64_t units,
             unsigned char* memory) {
  static uint32_t turn = 0;
  for (uint32_t i = 0; i < plan.count; ++i) {
    // In pairs: launches with their words in memory take turns one by one.
    if ((++turn & 2) != 0 && plan.grids[i].many != nullptr) {
      LaunchMember(plan.grids[i], launch, units, memory);
    } else {
      LaunchGrid(plan.grids[i], launch, units, memory);
    }
  }
}

void PrepareCuda(const cw_kernel_row& row, const cw_launch& launch, uint32_t params,
                 void* memory) {
  Room<int64_t> spilled;
  const cw_cuda_launch own = ByValue(row, launch, params, false, spilled);
  cw_cuda_plan plan;
  Whole(row).plan_prepare(&Whole(row), &launch, 1, &Limits(), &plan);
  RunPlan(plan, own, 1, static_cast<unsigned char*>(memory));
}

void RunCuda(const cw_kernel_row& row, const cw_launch& launch, uint32_t params, uint64_t units) {
  Room<int64_t> spilled;
  const cw_cuda_launch own = ByValue(row, launch, params, true, spilled);
  cw_cuda_plan plan;
  Whole(row).plan(&Whole(row), &launch, units, &Limits(), &plan);
  Block block;
  void* scratch = Aligned(block, plan.scratch_bytes);
  RunPlan(plan, own, units, static_cast<unsigned char*>(scratch));
}

const cw_kernel_row* FindCuda(const char* kernel, uint32_t out_dtype) {
  uint64_t count = 0;
  const cw_cuda_row* row = cw_cuda_kernels(&count);
  while (row->row.out_dtype != out_dtype || strcmp(row->row.kernel, kernel) != 0) ++row;
  return &row->row;
}

constexpr Player kCuda = {PrepareCuda, RunCuda, FindCuda};

}  // namespace

struct Asked {
  const char *module = nullptr, *after = nullptr;
  std::vector<std::string> symbols;

  bool Wants(const cw_cuda_row& row) const {
    if (module != nullptr) return strcmp(module, row.module) == 0;
    return symbols.empty() ||
           std::find(symbols.begin(), symbols.end(), row.row.symbol) != symbols.end();
  }
};

int main(int count, char** words) {
  Asked asked;
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "--module") == 0 && i + 1 < count) {
      asked.module = words[++i];
    } else if (strcmp(words[i], "--after") == 0 && i + 1 < count) {
      asked.after = words[++i];
    } else {
      asked.symbols.push_back(words[i]);
    }
  }
  uint64_t all = 0;
  const cw_cuda_row* rows = cw_cuda_kernels(&all);
  bool behind = asked.after == nullptr;
  for (const cw_cuda_row* row = rows; row != rows + all; ++row) {
    the_row = row->row.symbol;
    if (behind && asked.Wants(*row)) {
      if (asked.module != nullptr) printf("%s begins\n", the_row), fflush(stdout);
      Play(row->row, kCuda, asked.symbols.empty());
      fflush(stdout);
    }
    behind |= !behind && strcmp(the_row, asked.after) == 0;
  }
}
