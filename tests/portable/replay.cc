// Runs the portable kernels on launches.h, with operands from a fixed generator, and prints a line
// a launch: `symbol launch digest`. Builds of the same kernels for two machines print the same,
// but for functions of C's library: with symbols as arguments it prints the numbers of these rows
// instead. What no launch calls is printed as `symbol uncalled`.
#include "replay.h"

namespace {

void PrepareHere(const cw_kernel_row& row, const cw_launch& launch, uint32_t, void* memory) {
  row.prepare(&launch, memory);
}

// In two pieces: where a range begins changes nothing.
void RunHere(const cw_kernel_row& row, const cw_launch& launch, uint32_t, uint64_t units) {
  Block block;
  const uint64_t bytes = row.scratch_bytes == nullptr ? 0 : row.scratch_bytes(&launch);
  void* scratch = Aligned(block, bytes);
  row.run(&launch, 0, units / 3, scratch);
  row.run(&launch, units / 3, units, scratch);
}

const cw_kernel_row* FindHere(const char* kernel, uint32_t out_dtype) {
  uint64_t count = 0;
  const cw_kernel_row* row = cw_cpu_kernels(&count);
  while (row->needs != CW_PORTABLE || row->out_dtype != out_dtype || strcmp(row->kernel, kernel))
    ++row;
  return row;
}

constexpr Player kHere = {PrepareHere, RunHere, FindHere};

}  // namespace

int main(int count, char** words) {
  uint64_t all = 0;
  const cw_kernel_row* rows = cw_cpu_kernels(&all);
  for (const cw_kernel_row* row = rows; row != rows + all; ++row) {
    bool wanted = count == 1;
    for (int i = 1; i < count; ++i) wanted |= strcmp(words[i], row->symbol) == 0;
    if (row->needs == CW_PORTABLE && wanted) Play(*row, kHere, count == 1);
  }
}
