// A driver that does in each of its functions what it is told, for tests of isolation. The file
// that HOSTILE_ORDERS names holds the orders: `launch segv` ends the process in `launch`. It is
// read in each call; without it, the driver works.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cloakwork/simple_device.h"

static volatile int sink;
static volatile char how_bytes[1];

// Uses up the stack.
static int deeper(volatile char* before) {
  volatile char room[4096];
  room[0] = before[0];
  return sink ? room[0] : deeper(room) + room[0];
}

// Says that an order is being obeyed: an empty file beside the orders, with this suffix.
static void tell(const char* suffix) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", getenv("HOSTILE_ORDERS"), suffix);
  FILE* told = fopen(path, "w");
  if (told != NULL) fclose(told);
}

static void obey(const char* how) {
  if (strcmp(how, "segv") == 0) *(volatile int*)64 = 1;
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "stack") == 0) sink = deeper(how_bytes);
  if (strcmp(how, "hang") == 0) {
    tell("hangs");
    for (;;) sleep(1);
  }
  if (strcmp(how, "fds") == 0) for (int fd = 0; fd < 1024; ++fd) close(fd);
  if (strcmp(how, "noise") == 0) {
    // What is no message, on every socket.
    for (int fd = 3; fd < 64; ++fd) {
      const long written = write(fd, "\xff\xff\xff\xff nonsense", 13);
      (void)written;
    }
  }
  if (strcmp(how, "fork") == 0 && fork() == 0) for (;;) sleep(1);
  if (strcmp(how, "stdout") == 0) printf("a word of the library\n"), fflush(stdout);
}

// Whether the orders are for this function; then `how` gets them.
static int ordered(const char* where, char how[32]) {
  const char* path = getenv("HOSTILE_ORDERS");
  FILE* orders = path == NULL ? NULL : fopen(path, "r");
  if (orders == NULL) return 0;
  char name[32] = "";
  how[0] = 0;
  const int read = fscanf(orders, "%31s %31s", name, how);
  fclose(orders);
  return read == 2 && strcmp(name, where) == 0;
}

// What an asynchronous device does: a launch goes wrong after it has returned. How, `finish` shows.
static enum { WELL, BROKEN, CRASHING, HANGING } later = WELL;

// `add breaks` is an order to launches of the row alone; `breaks_once` one that is then withdrawn.
static void launched(uint32_t row) {
  char how[32];
  if (row != 0 || !ordered("add", how)) return;
  if (strncmp(how, "breaks", 6) == 0) later = BROKEN;
  if (strcmp(how, "crashes") == 0) later = CRASHING;
  if (strcmp(how, "hangs") == 0) later = HANGING;
  if (strcmp(how, "breaks_once") == 0) remove(getenv("HOSTILE_ORDERS"));
}

static void at(const char* where) {
  char how[32];
  if (ordered(where, how)) obey(how);
}

static void add(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const uint64_t a = CW_SIMPLE_AT(uint64_t, launch, 1, launch->rank, unit);
    const uint64_t b = CW_SIMPLE_AT(uint64_t, launch, 2, launch->rank, unit);
    CW_SIMPLE_AT(uint64_t, launch, 0, launch->rank, unit) = a + b;
  }
}

static void mul(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) {
  (void)scratch;
  for (uint64_t unit = begin; unit < end; ++unit) {
    const uint64_t a = CW_SIMPLE_AT(uint64_t, launch, 1, launch->rank, unit);
    const uint64_t b = CW_SIMPLE_AT(uint64_t, launch, 2, launch->rank, unit);
    CW_SIMPLE_AT(uint64_t, launch, 0, launch->rank, unit) = a * b;
  }
}

static uint64_t prepared_bytes(const cw_launch* launch) {
  char how[32];
  if (ordered("prepared_bytes", how)) {
    if (strcmp(how, "huge") == 0) return UINT64_MAX;
    obey(how);
  }
  uint64_t elements = 1;
  for (uint32_t axis = 0; axis < launch->rank; ++axis) {
    if (launch->strides[2 * launch->rank + axis] != 0) elements *= (uint64_t)launch->dims[axis];
  }
  return 8 * elements;
}

static void prepare(const cw_launch* launch, void* prepared) {
  (void)launch;
  *(uint64_t*)prepared = 1;
}

static const cw_kernel_row rows[] = {
    {"add", "add_hostile", 0, CW_I64, CW_I64, 0, 0, 0, 0, add, NULL, NULL, NULL},
    {"multiply", "multiply_hostile", 0, CW_I64, CW_I64, 0, 1u << 2, 0, 0, mul, NULL, prepared_bytes,
     prepare},
};

static const cw_simple_chip chip = {
    "hostile", rows, sizeof rows / sizeof rows[0], 2, 0, NULL, NULL, CW_SIMPLE_COSTS};

static const cw_simple_chip* cw_simple_chip_of_library(void) { return &chip; }

// The function of the kit, after the orders.
#define ORDERED(name, parameters, ...)            \
  static int32_t own_##name parameters {          \
    at(#name);                                    \
    return cw_simple_##name(__VA_ARGS__);         \
  }
#define ORDERED_VOID(name, type)      \
  static void own_##name(type* own) { \
    at(#name);                        \
    cw_simple_##name(own);            \
  }

ORDERED(open, (uint32_t index, cw_device** device), index, device)
ORDERED_VOID(close, cw_device)
ORDERED(allocate, (cw_device * device, uint64_t bytes, void** where), device, bytes, where)
ORDERED(open_queue, (cw_device * device, cw_queue** queue), device, queue)
ORDERED_VOID(close_queue, cw_queue)
ORDERED(upload, (cw_queue * queue, void* to, const void* from, uint64_t bytes), queue, to, from,
        bytes)
ORDERED(download, (cw_queue * queue, void* to, const void* from, uint64_t bytes), queue, to, from,
        bytes)
static int32_t own_launch(cw_queue* queue, uint32_t row, const cw_launch* launch, uint32_t params,
                          uint64_t units) {
  at("launch");
  launched(row);
  return cw_simple_launch(queue, row, launch, params, units);
}
ORDERED(prepare,
        (cw_queue * queue, uint32_t row, const cw_launch* launch, uint32_t params, void* prepared),
        queue, row, launch, params, prepared)
ORDERED(record, (cw_queue * queue, uint64_t* event), queue, event)
ORDERED(wait, (cw_queue * queue, uint64_t event), queue, event)
static int32_t own_finish(cw_queue* queue, uint64_t event) {
  at("finish");
  if (later == CRASHING) obey("segv");
  if (later == HANGING) obey("hang");
  return later == BROKEN ? CW_DEVICE_LOST : cw_simple_finish(queue, event);
}
static void own_reason(cw_device* device, char* text, uint64_t bytes) {
  if (later != BROKEN) return cw_simple_reason(device, text, bytes);
  snprintf(text, bytes, "the context is broken");
}

static void own_release(cw_device* device, void* where) {
  at("release");
  cw_simple_release(device, where);
}

static int32_t own_build(cw_device* device, const cw_segment_parts* parts, cw_segment** segment) {
  (void)device;
  (void)parts;
  at("build");
  // Launches come one by one.
  *segment = NULL;
  return 0;
}

static int32_t own_run(cw_queue* queue, cw_segment* segment) {
  (void)queue;
  (void)segment;
  return 1;
}

static void own_release_segment(cw_device* device, cw_segment* segment) {
  (void)device;
  (void)segment;
}

static uint32_t own_count(void) {
  at("count");
  return chip.devices;
}

static uint64_t own_features(uint32_t index) {
  (void)index;
  char how[32];
  if (ordered("features", how)) {
    if (strcmp(how, "all") == 0) return UINT64_MAX;
    obey(how);
  }
  return 0;
}

static const cw_kernel_row* own_kernels(uint64_t* count) {
  at("kernels");
  return cw_simple_kernels(count);
}

CW_SIMPLE_EXPORT const cw_driver* cw_driver_table(void);
CW_SIMPLE_EXPORT const cw_driver* cw_driver_table(void) {
  static const cw_device_functions functions = {
      own_open,     own_close,      own_reason, own_allocate, own_release,
      own_open_queue, own_close_queue, own_upload,       own_download, own_launch,
      own_prepare,  own_record,     own_wait,         own_finish,   cw_simple_check,
      cw_simple_failed_check};
  static const cw_segment_functions segments = {own_build, own_run, own_release_segment};
  static const cw_driver table = {CW_DEVICE_ABI, sizeof table,      "hostile",
                                  CW_DEVICE_SEGMENTS, CW_SIMPLE_COSTS, own_count,
                                  own_kernels,   own_features,      &functions, &segments};
  at("cw_driver_table");
  return &table;
}
