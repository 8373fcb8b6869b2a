// Runs the CUDA rows on launches.h by the shim, and prints the lines that replay.cc prints.
#include "cloakwork/cuda.h"
#include "replay.h"

extern "C" int cw_shim_launch(const cw_cuda_grid* grid, const cw_cuda_launch* launch,
                              uint64_t units, unsigned char* memory);

namespace {

// Two multiprocessors, so that small launches also step over their work; little scratch memory, so
// that plans must divide it.
constexpr cw_cuda_limits kLimits = {2, 232448, 4 << 20};

// The row of the table that a kernel row is the first field of.
const cw_cuda_row& Whole(const cw_kernel_row& row) {
  return *reinterpret_cast<const cw_cuda_row*>(&row);
}

cw_cuda_launch ByValue(const cw_kernel_row& row, const cw_launch& launch, uint32_t params,
                       bool runs, Words& spilled) {
  static const uint64_t has_failed = 0;
  cw_cuda_launch own = {};
  own.failed = &has_failed;
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
    spilled = words;
    own.spilled = spilled.data();
  } else {
    memcpy(own.words, words.data(), words.size() * sizeof(int64_t));
  }
  return own;
}

void RunPlan(const cw_kernel_row& row, const cw_cuda_plan& plan, const cw_cuda_launch& launch,
             uint64_t units, unsigned char* memory) {
  for (uint32_t i = 0; i < plan.count; ++i) {
    if (cw_shim_launch(&plan.grids[i], &launch, units, memory) == 0) continue;
    printf("%s cannot be launched: %s\n", row.symbol, plan.grids[i].symbol);
  }
}

void PrepareCuda(const cw_kernel_row& row, const cw_launch& launch, uint32_t params,
                 void* memory) {
  Words spilled;
  const cw_cuda_launch own = ByValue(row, launch, params, false, spilled);
  cw_cuda_plan plan;
  Whole(row).plan_prepare(&Whole(row), &launch, 1, &kLimits, &plan);
  RunPlan(row, plan, own, 1, static_cast<unsigned char*>(memory));
}

void RunCuda(const cw_kernel_row& row, const cw_launch& launch, uint32_t params, uint64_t units) {
  Words spilled;
  const cw_cuda_launch own = ByValue(row, launch, params, true, spilled);
  cw_cuda_plan plan;
  Whole(row).plan(&Whole(row), &launch, units, &kLimits, &plan);
  Block block;
  void* scratch = Aligned(block, plan.scratch_bytes);
  RunPlan(row, plan, own, units, static_cast<unsigned char*>(scratch));
}

const cw_kernel_row* FindCuda(const char* kernel, uint32_t out_dtype) {
  uint64_t count = 0;
  const cw_cuda_row* row = cw_cuda_kernels(&count);
  while (row->row.out_dtype != out_dtype || strcmp(row->row.kernel, kernel) != 0) ++row;
  return &row->row;
}

constexpr Player kCuda = {PrepareCuda, RunCuda, FindCuda};

}  // namespace

int main(int count, char** words) {
  uint64_t all = 0;
  const cw_cuda_row* rows = cw_cuda_kernels(&all);
  for (const cw_cuda_row* row = rows; row != rows + all; ++row) {
    bool wanted = count == 1;
    for (int i = 1; i < count; ++i) wanted |= strcmp(words[i], row->row.symbol) == 0;
    if (wanted) Play(row->row, kCuda, count == 1);
  }
}
