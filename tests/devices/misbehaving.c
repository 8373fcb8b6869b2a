// Libraries that are no good driver, for tests that must name the reason. The flag chooses it:
//
//   -DNO_SYMBOL  -DNULL_TABLE  -DWRONG_VERSION  -DWRONG_SIZE  -DUNKNOWN_CAPABILITY
//   -DNO_NAME  -DBAD_NAME  -DTAKEN_NAME  -DNULL_COUNT  -DNULL_KERNELS  -DNULL_FEATURES
//   -DNULL_FUNCTIONS  -DNULL_FUNCTION
//   -DNULL_ROWS  -DNULL_KERNEL  -DNULL_SYMBOL  -DNULL_RUN  -DBAD_DTYPE
//   -DDUPLICATE_SYMBOL  -DUNKNOWN_KERNEL
//   -DALLOCATES=at: `allocate` succeeds with this address
//   -DFAILS=open ... -DFAILS=finish: that function returns 7, and `reason` gives the text
//   -DCRASHES=launch: that function ends the process by SIGSEGV
//   -DHANGS=finish: that function does not return
#include <signal.h>
#include <unistd.h>

#include "cloakwork/simple_device.h"

CW_SIMPLE_LOCAL void add_one(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const int64_t a = CW_SIMPLE_AT(int64_t, launch, 1, launch->rank, unit);
    const int64_t b = CW_SIMPLE_AT(int64_t, launch, 2, launch->rank, unit);
    CW_SIMPLE_AT(int64_t, launch, 0, launch->rank, unit) = (int64_t)((uint64_t)a + (uint64_t)b);
  }
}

static const cw_kernel_row rows[] = {
#if defined(NULL_KERNEL)
    {NULL, "add_one", 0, CW_I64, CW_I64, 0, 0, 0, 0, add_one, NULL, NULL, NULL},
#elif defined(NULL_SYMBOL)
    {"add", NULL, 0, CW_I64, CW_I64, 0, 0, 0, 0, add_one, NULL, NULL, NULL},
#elif defined(NULL_RUN)
    {"add", "add_one", 0, CW_I64, CW_I64, 0, 0, 0, 0, NULL, NULL, NULL, NULL},
#elif defined(BAD_DTYPE)
    {"add", "add_one", 0, 999, CW_I64, 0, 0, 0, 0, add_one, NULL, NULL, NULL},
#elif defined(UNKNOWN_KERNEL)
    CW_SIMPLE_ROW("ad", add_one, CW_I64, CW_I64),
#else
    CW_SIMPLE_ROW("add", add_one, CW_I64, CW_I64),
#endif
#ifdef DUPLICATE_SYMBOL
    CW_SIMPLE_ROW("multiply", add_one, CW_I64, CW_I64),
#endif
};

static const cw_simple_chip chip = {
#if defined(BAD_NAME)
    "My Chip:0",
#elif defined(TAKEN_NAME)
    "cpu",
#else
    "misbehaving",
#endif
    rows, sizeof rows / sizeof rows[0], 1, 0, NULL, NULL, CW_SIMPLE_COSTS};

static const cw_simple_chip* cw_simple_chip_of_library(void) { return &chip; }

CW_SIMPLE_LOCAL const cw_kernel_row* three_of_none(uint64_t* count) {
  *count = 3;
  return NULL;
}

// What the chosen function does instead: of a call in a queue, and of a device.
CW_SIMPLE_LOCAL int32_t misbehave(cw_device* device) {
#if defined(CRASHES)
  raise(SIGSEGV);
#elif defined(HANGS)
  for (;;) sleep(1);
#endif
  cw_simple_fail("the chip is on fire");
  return cw_simple_refused(device, cw_simple_failure_of(device, 7));
}

// clang-format off
#if defined(CRASHES)
#define CHOSEN CRASHES
#elif defined(HANGS)
#define CHOSEN HANGS
#elif defined(FAILS)
#define CHOSEN FAILS
#endif
// clang-format on

#ifdef CHOSEN
#define JOIN(a, b) a##b
#define OWN(name) JOIN(bad_, name)

CW_SIMPLE_LOCAL int32_t bad_open(uint32_t index, cw_device** device) {
  const int32_t code = cw_simple_open(index, device);
  return code == 0 ? misbehave(*device) : code;
}
CW_SIMPLE_LOCAL int32_t bad_allocate(cw_device* device, uint64_t bytes, void** at) {
  (void)bytes;
  (void)at;
  return misbehave(device);
}
CW_SIMPLE_LOCAL int32_t bad_open_queue(cw_device* device, cw_queue** queue) {
  (void)queue;
  return misbehave(device);
}
CW_SIMPLE_LOCAL int32_t bad_upload(cw_queue* queue, void* to, const void* from, uint64_t bytes) {
  (void)to;
  (void)from;
  (void)bytes;
  return misbehave(queue->device);
}
CW_SIMPLE_LOCAL int32_t bad_download(cw_queue* queue, void* to, const void* from, uint64_t bytes) {
  return bad_upload(queue, to, from, bytes);
}
CW_SIMPLE_LOCAL int32_t bad_launch(cw_queue* queue, uint32_t row, const cw_launch* launch,
                                   uint32_t params, uint64_t units) {
  (void)row;
  (void)launch;
  (void)params;
  (void)units;
  return misbehave(queue->device);
}
CW_SIMPLE_LOCAL int32_t bad_record(cw_queue* queue, uint64_t* event) {
  (void)event;
  return misbehave(queue->device);
}
CW_SIMPLE_LOCAL int32_t bad_wait(cw_queue* queue, uint64_t event) {
  (void)event;
  return misbehave(queue->device);
}
CW_SIMPLE_LOCAL int32_t bad_finish(cw_queue* queue, uint64_t event) {
  (void)event;
  return misbehave(queue->device);
}
#endif

#ifdef ALLOCATES
CW_SIMPLE_LOCAL int32_t allocate_elsewhere(cw_device* device, uint64_t bytes, void** at) {
  (void)device;
  (void)bytes;
  *at = (void*)ALLOCATES;
  return 0;
}
CW_SIMPLE_LOCAL void release_nothing(cw_device* device, void* at) {
  (void)device;
  (void)at;
}
#endif

#if !defined(NO_SYMBOL)
CW_SIMPLE_EXPORT const cw_driver* cw_driver_table(void);
#else
#define cw_driver_table another_table
static const cw_driver* another_table(void) __attribute__((used));
static
#endif
const cw_driver* cw_driver_table(void) {
  static cw_device_functions functions = CW_SIMPLE_FUNCTIONS;
  static cw_driver table;
  const cw_driver own = {
      CW_DEVICE_ABI,   sizeof own,        chip.name,          chip.capabilities, CW_SIMPLE_COSTS,
      cw_simple_count, cw_simple_kernels, cw_simple_features, &functions,        NULL};
  table = own;
#if defined(NULL_TABLE)
  return NULL;
#elif defined(WRONG_VERSION)
  table.abi = CW_DEVICE_ABI + 1;
#elif defined(WRONG_SIZE)
  table.struct_bytes -= 8;
#elif defined(UNKNOWN_CAPABILITY)
  table.capabilities = UINT64_C(1) << 40;
#elif defined(NO_NAME)
  table.name = NULL;
#elif defined(NULL_COUNT)
  table.count = NULL;
#elif defined(NULL_KERNELS)
  table.kernels = NULL;
#elif defined(NULL_ROWS)
  table.kernels = three_of_none;
#elif defined(NULL_FEATURES)
  table.features = NULL;
#elif defined(NULL_FUNCTIONS)
  table.functions = NULL;
#elif defined(NULL_FUNCTION)
  functions.finish = NULL;
#elif defined(ALLOCATES)
  functions.allocate = allocate_elsewhere;
  functions.release = release_nothing;
#elif defined(CHOSEN)
#define PLACE(name) functions.name = OWN(name)
  PLACE(CHOSEN);
#endif
  return &table;
}
