// The C table between the CUDA driver, which is host code, and the CUDA kernels of fatbins.
//
// A row is a kernel row as the processor has them, and plans how one launch of it becomes a few
// grids. The driver runs these grids in order, one after another, each by the symbol of its
// __global__ function in the fatbin of its module. Rows, sizes and plans are host code: they need
// no GPU and no CUDA library, and builds without fatbins have them too.
#ifndef CLOAKWORK_CUDA_H_
#define CLOAKWORK_CUDA_H_

#include "cloakwork/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CW_CUDA_ABI 4u

enum {
  CW_CUDA_OPERANDS = 16,  // at most, of a launch
  CW_CUDA_WORDS = 432,    // that a launch carries itself
  CW_CUDA_GRIDS = 32,     // at most, of a launch
};

// A launch as a kernel gets it: by value, 3,624 bytes. Its words are, one after another:
//   dims[rank], strides[operands][rank], params[params], prepared[blocks]
// where `blocks` is the length of the array of prepared blocks for a row with a prepared_axis and
// else 0. A launch of more than CW_CUDA_WORDS words has them in device memory: `spilled`.
typedef struct cw_cuda_launch {
  uint32_t rank;
  uint32_t operands;
  uint32_t params;
  uint32_t blocks;
  void* data[CW_CUDA_OPERANDS];  // device addresses; null where absent
  const void* prepared;          // device address; null without one, and for a prepared_axis
  const int64_t* spilled;        // device address of all words; null: they are in `words`
  // Device address of a word that each thread of a kernel reads first: unless it is 0, the queue
  // has failed, and the kernel returns at once.
  const uint64_t* failed;
  int64_t words[CW_CUDA_WORDS];
} cw_cuda_launch;

// One grid of a launch. Every kernel has the same parameters:
//   (cw_cuda_launch launch, uint64_t units, uint64_t argument, unsigned char* memory)
// with the units of the launch, the grid's argument, and the scratch memory of the launch or, for
// a prepare, the prepared block.
typedef struct cw_cuda_grid {
  const char* module;  // name of a fatbin: "ntt"
  const char* symbol;
  const char* many;  // the function that runs several such grids as one; null: there is none
  uint64_t argument;
  uint32_t blocks[3];     // gridDim
  uint32_t threads;       // blockDim.x; y and z are 1
  uint32_t shared_bytes;  // dynamic; above 48 KiB a driver must allow them for the function first
} cw_cuda_grid;

// A grid among several of one function, whose launches are independent, that run as one. The
// function is cw_cuda_grid.many, and has the parameters of every kernel:
//   launch.data[0]: the device address of the members, one after another; launch.params: how many
//   launch.words: the first block of each; launch.failed: as ever
// gridDim.x are the blocks of all members, and their threads are as many; it has the shared memory
// of the member that needs the most. Units, argument and memory are the members' own.
typedef struct cw_cuda_member {
  uint32_t rank;
  uint32_t operands;
  void* data[CW_CUDA_OPERANDS];  // device addresses; null where absent
  const void* prepared;          // device address, as in cw_launch
  const int64_t* words;          // device address of what cw_cuda_launch has in its words
  uint64_t units;
  uint64_t argument;
  unsigned char* memory;
  uint32_t blocks[2];  // gridDim.x and .y of its own grid, whose .z is 1
} cw_cuda_member;

// The grids of one launch.
typedef struct cw_cuda_plan {
  uint64_t scratch_bytes;  // device memory for all grids together, aligned to 256 bytes
  uint32_t count;          // of grids; 0: there is nothing to do
  cw_cuda_grid grids[CW_CUDA_GRIDS];
} cw_cuda_plan;

// The limits of a device that plans depend on.
typedef struct cw_cuda_limits {
  uint32_t multiprocessors;
  uint32_t shared_bytes;   // that a block may have if a driver allows it: 232,448 on sm_90
  uint64_t scratch_bytes;  // that a driver likes to give to one launch at most
} cw_cuda_limits;

typedef struct cw_cuda_row cw_cuda_row;

// Plans a launch of so many units, above 0. Of the launch it reads dims, strides and params, and
// which data are null. A plan keeps to limits->scratch_bytes unless one thread needs more.
typedef void (*cw_cuda_plan_fn)(const cw_cuda_row* row, const cw_launch* launch, uint64_t units,
                                const cw_cuda_limits* limits, cw_cuda_plan* plan);

struct cw_cuda_row {
  // `run` and `prepare` are null; sizes are functions of the host as in every row. Only plans call
  // `scratch_bytes`, of one thread. `preference` and `needs` count as for the processor's rows.
  cw_kernel_row row;
  const char* module;            // of both functions
  const char* function;          // that most plans call
  const char* many;              // that of `function`, as in cw_cuda_grid; null: there is none
  const char* prepare_function;  // null without a prepare
  cw_cuda_plan_fn plan;
  // Plans the prepare of a launch (units is 1) as kernel.h describes that launch; its scratch_bytes
  // is 0: grids write the prepared block. Null without a prepare.
  cw_cuda_plan_fn plan_prepare;
};

// All rows. A driver offers those whose module its build has.
const cw_cuda_row* cw_cuda_kernels(uint64_t* count);

// The fatbin of a module by its name, for cuModuleLoadData; null where this build lacks it.
const void* cw_cuda_module(const char* name, uint64_t* bytes);

// Sizes and offsets of the structs above, for a test that compares them with Rust's mirrors:
// {abi, sizeof(cw_cuda_launch), offsets..., and so on in the order of this file}.
const uint64_t* cw_cuda_layout(uint64_t* count);

#ifdef __cplusplus
}
#endif

#endif  // CLOAKWORK_CUDA_H_
