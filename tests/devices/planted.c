// The example device in C with one bug, for tests that must name it. The flag chooses the bug:
//
//   -DPLANTED_ELEMENT=n  modmul: in launches of n units, the element of unit n / 2 is 1 too great
//   -DPLANTED_RACE       an event happens before the last launch in front of it is done, which the
//                        next command of the queue does: work of another queue that waits for the
//                        event, and a host that has waited, find the result as it was before
//   -DPLANTED_LIFETIME   a launch reads the array of its operands' addresses after it returned; one
//                        that finds others by then is left out
//   -DPLANTED_STRIDE     modsum: the stride of b along the last dimension is taken to be 1
//                        where it is greater
//   -DPLANTED_MODULUS    modmul: the product wraps at 64 bits where the modulus is above 2^31
//
// None of them reads or writes outside of its operands, so that a run ends with a wrong result or
// with an error, and each time in the same way.
#include "cloakwork/simple_device.h"

// The kernels of the example, without its table.
#undef CW_SIMPLE_DRIVER
#define CW_SIMPLE_DRIVER(name, rows)
#include "../../examples/devices/c/mychip.c"

#define MOST_DIMS 32

CW_SIMPLE_LOCAL int is_row(uint32_t row, const char* kernel) {
  return strcmp(rows[row].kernel, kernel) == 0;
}

#ifdef PLANTED_ELEMENT
static int32_t run(uint32_t row, const cw_launch* launch, uint64_t units) {
  rows[row].run(launch, 0, units, NULL);
  if (is_row(row, "modmul") && units == PLANTED_ELEMENT) {
    CW_SIMPLE_AT(int64_t, launch, 0, launch->rank, units / 2) += 1;
  }
  return 0;
}
#elif defined(PLANTED_STRIDE)
static int32_t run(uint32_t row, const cw_launch* launch, uint64_t units) {
  int64_t strides[4 * MOST_DIMS];
  cw_launch wrong = *launch;
  if (is_row(row, "modsum") && launch->rank > 0 && launch->rank <= MOST_DIMS) {
    memcpy(strides, launch->strides, 4 * launch->rank * sizeof *strides);
    int64_t* last = &strides[3 * launch->rank - 1];
    if (*last > 1) *last = 1;
    wrong.strides = strides;
  }
  rows[row].run(&wrong, 0, units, NULL);
  return 0;
}
#elif defined(PLANTED_MODULUS)
static int32_t run(uint32_t row, const cw_launch* launch, uint64_t units) {
  if (!is_row(row, "modmul")) {
    rows[row].run(launch, 0, units, NULL);
    return 0;
  }
  for (uint64_t unit = 0; unit < units; ++unit) {
    const int64_t q = ELEMENT(int64_t, 3);
    const wide_word product = (wide_word)ELEMENT(int64_t, 1) * ELEMENT(int64_t, 2);
    const int is_wide = q > INT64_C(1) << 31;
    ELEMENT(int64_t, 0) = (int64_t)(is_wide ? (uint64_t)product % (uint64_t)q : product % q);
  }
  return 0;
}
#else
static int32_t run(uint32_t row, const cw_launch* launch, uint64_t units) {
  rows[row].run(launch, 0, units, NULL);
  return 0;
}
#endif

static int32_t run_all(uint32_t index, uint32_t row, const cw_launch* launch, uint32_t params,
                       uint64_t units) {
  (void)index;
  (void)params;
  return run(row, launch, units);
}

static const cw_simple_chip chip = {
    "planted", rows, sizeof rows / sizeof rows[0], 1, 0, NULL, run_all, CW_SIMPLE_COSTS};

#if !defined(PLANTED_RACE) && !defined(PLANTED_LIFETIME)
static const cw_device_functions functions = CW_SIMPLE_FUNCTIONS;
#else
// A queue that keeps its last launch and runs it later.
typedef struct late_queue {
  cw_queue own;  // first: the kit's functions take the queue for its own
  int is_late;
  uint32_t row;
  uint64_t units;
  cw_launch launch;
  int64_t dims[MOST_DIMS];
  int64_t strides[4 * MOST_DIMS];
  void* data[4];
} late_queue;

static int32_t catch_up(cw_queue* queue) {
  late_queue* late = (late_queue*)queue;
  if (!late->is_late) return 0;
  late->is_late = 0;
#ifdef PLANTED_LIFETIME
  // With other addresses it could do anything.
  const uint64_t bytes = late->launch.operands * sizeof(void*);
  if (memcmp(late->launch.data, late->data, bytes) != 0) return 0;
#endif
  return cw_simple_launch(queue, late->row, &late->launch, 0, late->units);
}

static int32_t late_open(cw_device* device, cw_queue** queue) {
  late_queue* late = (late_queue*)calloc(1, sizeof *late);
  if (late == NULL) return cw_simple_refused(device, &device->no_memory);
  late->own.device = device;
  *queue = &late->own;
  return 0;
}

static void late_close(cw_queue* queue) {
  catch_up(queue);
  free(queue);
}

static int32_t late_launch(cw_queue* queue, uint32_t row, const cw_launch* launch, uint32_t params,
                           uint64_t units) {
  late_queue* late = (late_queue*)queue;
  const int32_t code = catch_up(queue);
  if (code != 0 || launch->rank > MOST_DIMS || launch->operands > 4) {
    return code != 0 ? code : cw_simple_launch(queue, row, launch, params, units);
  }
  late->is_late = 1;
  late->row = row;
  late->units = units;
  late->launch = *launch;
  late->launch.dims = late->dims;
  late->launch.strides = late->strides;
  if (launch->rank > 0) {
    memcpy(late->dims, launch->dims, launch->rank * sizeof(int64_t));
    memcpy(late->strides, launch->strides, launch->operands * launch->rank * sizeof(int64_t));
  }
  memcpy(late->data, launch->data, launch->operands * sizeof(void*));
#ifdef PLANTED_RACE
  late->launch.data = late->data;
#endif
  return 0;
}

static int32_t late_upload(cw_queue* queue, void* to, const void* from, uint64_t bytes) {
  const int32_t code = catch_up(queue);
  return code != 0 ? code : cw_simple_upload(queue, to, from, bytes);
}

static int32_t late_download(cw_queue* queue, void* to, const void* from, uint64_t bytes) {
  const int32_t code = catch_up(queue);
  return code != 0 ? code : cw_simple_download(queue, to, from, bytes);
}

static int32_t late_check(cw_queue* queue, const void* status, uint64_t check) {
  const int32_t code = catch_up(queue);
  return code != 0 ? code : cw_simple_check(queue, status, check);
}

static int32_t late_record(cw_queue* queue, uint64_t* event) {
#ifdef PLANTED_LIFETIME
  const int32_t code = catch_up(queue);
  if (code != 0) return code;
#endif
  return cw_simple_record(queue, event);
}

static const cw_device_functions functions = {
    cw_simple_open,    cw_simple_close, cw_simple_reason, cw_simple_allocate,
    cw_simple_release, late_open,       late_close,       late_upload,
    late_download,     late_launch,     cw_simple_prepare, late_record,
    cw_simple_wait,    cw_simple_finish, late_check,       cw_simple_failed_check};
#endif

CW_SIMPLE_TABLE(chip, functions)
