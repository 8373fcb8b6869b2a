// A driver from kernels alone: the rest of the table of device.h, for devices that work at once.
//
//   #include "cloakwork/simple_device.h"
//
//   static void add(const cw_launch* launch, uint64_t begin, uint64_t end, void* scratch) { ... }
//
//   static const cw_kernel_row rows[] = {CW_SIMPLE_ROW("modsum", add, CW_I64, CW_I64)};
//   CW_SIMPLE_DRIVER("mychip", rows)
//
// This is a whole driver: it exports cw_driver_table. Its memory is the process's, behind addresses
// of its own: device address -> (slot, offset), so that a host that follows one crashes, and an
// operand outside of every allocation is refused. Each call is done when it returns, so queues and
// events hold nothing but the failure before them.
//
// A chip replaces this piece by piece: memory and transfers (cw_simple_memory), launches
// (cw_simple_chip.launch), single functions of the table (CW_SIMPLE_FUNCTIONS, CW_SIMPLE_TABLE).
// docs/kernel-contract.md has the rules of pointers, lengths, lifetimes and threads.
//
// Include it in one file of the library: C11 or C++17, GCC or Clang.
#ifndef CLOAKWORK_SIMPLE_DEVICE_H_
#define CLOAKWORK_SIMPLE_DEVICE_H_

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cloakwork/device.h"

#ifdef __cplusplus
#define CW_SIMPLE_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define CW_SIMPLE_EXPORT __attribute__((visibility("default")))
#endif
// Of functions that a library need not use.
#define CW_SIMPLE_LOCAL static __attribute__((unused))

// The number of every error of the kit; `reason` has its text.
#define CW_SIMPLE_REFUSED 1
#define CW_SIMPLE_TEXT_BYTES 256
// Allocations that a device has at a time, and the distance between their addresses.
#define CW_SIMPLE_SLOTS 4096
#define CW_SIMPLE_FIRST ((uint64_t)1 << 55)
#define CW_SIMPLE_WINDOW ((uint64_t)1 << 40)
#define CW_SIMPLE_OPERANDS 64

// ---- What a library gives ----

// A row of a kernel over elements of one type, and of one that moves elements of so many bytes.
#define CW_SIMPLE_ROW(kernel, run, in_dtype, out_dtype) \
  {kernel, #run, 0, in_dtype, out_dtype, 0, 0, 0, 0, run, NULL, NULL, NULL}
#define CW_SIMPLE_ROW_BYTES(kernel, run, element_bytes) \
  {kernel, #run, 0, CW_ANY, CW_ANY, element_bytes, 0, 0, 0, run, NULL, NULL, NULL}

// Memory of a chip. Addresses are the chip's: launches get them as they are. Functions return 0, or
// a number of their own after cw_simple_fail.
typedef struct cw_simple_memory {
  int32_t (*allocate)(uint32_t index, uint64_t bytes, void** at);  // zeroed, aligned to 64 bytes
  void (*release)(uint32_t index, void* at);
  // Done when they return.
  int32_t (*upload)(uint32_t index, void* to, const void* from, uint64_t bytes);
  int32_t (*download)(uint32_t index, void* to, const void* from, uint64_t bytes);
} cw_simple_memory;

typedef struct cw_simple_chip {
  const char* name;  // of the driver: small letters, digits and _
  const cw_kernel_row* rows;
  uint64_t row_count;
  uint32_t devices;                // mychip:0 .. devices - 1 can be opened
  uint64_t capabilities;           // CW_DEVICE_LIMB_MAJOR, or none
  const cw_simple_memory* memory;  // null: the kit's
  // Runs all units of a launch and returns when they are done; null: row->run. `data` are addresses
  // of `memory`, or pointers of the process where that is null.
  int32_t (*launch)(uint32_t index, uint32_t row, const cw_launch* launch, uint32_t params,
                    uint64_t units);
  cw_device_costs costs;
} cw_simple_chip;

// The chip of this library: CW_SIMPLE_TABLE defines it.
static const cw_simple_chip* cw_simple_chip_of_library(void);

// ---- Errors ----

static __thread char cw_simple_text[CW_SIMPLE_TEXT_BYTES];
static __thread int cw_simple_failed;

// States why the current call fails. A kernel that calls it fails its launch, and the queue.
CW_SIMPLE_LOCAL __attribute__((format(printf, 1, 2))) int32_t cw_simple_fail(const char* format,
                                                                             ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(cw_simple_text, sizeof cw_simple_text, format, values);
  va_end(values);
  cw_simple_failed = 1;
  return CW_SIMPLE_REFUSED;
}

// Why a queue failed. An event is the address of the failure before it, or 0: it has happened when
// it is recorded. Failures never change, and live as long as their device.
typedef struct cw_simple_failure {
  int32_t code;
  cw_failed_check check;
  char text[CW_SIMPLE_TEXT_BYTES];
  struct cw_simple_failure* next;
} cw_simple_failure;

typedef struct cw_simple_slot {
  char* start;  // null: free
  uint64_t bytes;
} cw_simple_slot;

struct cw_device {
  uint32_t index;
  cw_simple_failure* failures;    // all of them
  const cw_simple_failure* last;  // that `reason` gives as text
  cw_simple_failure no_memory;    // for a failure that there is no memory for
  cw_simple_slot slots[CW_SIMPLE_SLOTS];
};

struct cw_queue {
  cw_device* device;
  const cw_simple_failure* failure;
};

// The failure of the current call, with the text of cw_simple_fail.
CW_SIMPLE_LOCAL cw_simple_failure* cw_simple_failure_of(cw_device* device, int32_t code) {
  cw_simple_failure* failure = (cw_simple_failure*)calloc(1, sizeof *failure);
  if (failure == NULL) return &device->no_memory;
  failure->code = code;
  memcpy(failure->text, cw_simple_text, sizeof failure->text);
  failure->next = __atomic_load_n(&device->failures, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&device->failures, &failure->next, failure, 0,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return failure;
}

CW_SIMPLE_LOCAL int32_t cw_simple_refused(cw_device* device, const cw_simple_failure* failure) {
  __atomic_store_n(&device->last, failure, __ATOMIC_RELEASE);
  return failure->code;
}

// The result of a call of a queue: an error makes the queue fail.
CW_SIMPLE_LOCAL int32_t cw_simple_done(cw_queue* queue, int32_t code) {
  if (code == 0) return 0;
  queue->failure = cw_simple_failure_of(queue->device, code);
  return cw_simple_refused(queue->device, queue->failure);
}

CW_SIMPLE_LOCAL void cw_simple_reason(cw_device* device, char* text, uint64_t bytes) {
  const cw_simple_failure* last = __atomic_load_n(&device->last, __ATOMIC_ACQUIRE);
  if (bytes > 0) snprintf(text, bytes, "%s", last == NULL ? "" : last->text);
}

// ---- Devices and memory ----

CW_SIMPLE_LOCAL int32_t cw_simple_open(uint32_t index, cw_device** device) {
  const uint32_t devices = cw_simple_chip_of_library()->devices;
  cw_device* own = (cw_device*)calloc(1, sizeof *own);
  if (own == NULL) return CW_SIMPLE_REFUSED;
  own->index = index;
  own->no_memory.code = CW_SIMPLE_REFUSED;
  strcpy(own->no_memory.text, "out of host memory");
  *device = own;
  if (index < devices) return 0;
  cw_simple_fail("device %u does not exist: there are %u", index, devices);
  return cw_simple_refused(own, cw_simple_failure_of(own, CW_SIMPLE_REFUSED));
}

CW_SIMPLE_LOCAL void cw_simple_close(cw_device* device) {
  while (device->failures != NULL) {
    cw_simple_failure* next = device->failures->next;
    free(device->failures);
    device->failures = next;
  }
  free(device);
}

// Memory of the process for an allocation, or null. Aligned to 64 bytes, of which it has at least
// one.
CW_SIMPLE_LOCAL char* cw_simple_zeros(uint64_t bytes) {
  if (bytes > CW_SIMPLE_WINDOW) return NULL;
  const size_t room = ((size_t)bytes + 64) / 64 * 64;
  char* start = (char*)aligned_alloc(64, room);
  return start == NULL ? NULL : (char*)memset(start, 0, room);
}

CW_SIMPLE_LOCAL int32_t cw_simple_allocate(cw_device* device, uint64_t bytes, void** at) {
  const cw_simple_memory* memory = cw_simple_chip_of_library()->memory;
  if (memory != NULL) {
    const int32_t code = memory->allocate(device->index, bytes, at);
    return code == 0 ? 0 : cw_simple_refused(device, cw_simple_failure_of(device, code));
  }
  char* start = cw_simple_zeros(bytes);
  for (uint64_t slot = 0; start != NULL && slot < CW_SIMPLE_SLOTS; ++slot) {
    char* expected = NULL;
    if (__atomic_compare_exchange_n(&device->slots[slot].start, &expected, start, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      device->slots[slot].bytes = bytes;
      *at = (void*)(uintptr_t)(CW_SIMPLE_FIRST + slot * CW_SIMPLE_WINDOW);
      return 0;
    }
  }
  free(start);
  cw_simple_fail("out of memory: %llu bytes requested", (unsigned long long)bytes);
  return cw_simple_refused(device, cw_simple_failure_of(device, CW_SIMPLE_REFUSED));
}

// The slot of an address, or null.
CW_SIMPLE_LOCAL cw_simple_slot* cw_simple_slot_of(cw_device* device, const void* at) {
  const uint64_t slot = ((uint64_t)(uintptr_t)at - CW_SIMPLE_FIRST) / CW_SIMPLE_WINDOW;
  return slot < CW_SIMPLE_SLOTS ? &device->slots[slot] : NULL;
}

// Data may be secret: a compiler may not leave the zeros out.
CW_SIMPLE_LOCAL void cw_simple_wipe(char* start, uint64_t bytes) {
  volatile char* byte = start;
  for (uint64_t i = 0; i < bytes; ++i) byte[i] = 0;
}

CW_SIMPLE_LOCAL void cw_simple_release(cw_device* device, void* at) {
  const cw_simple_memory* memory = cw_simple_chip_of_library()->memory;
  if (memory != NULL) {
    memory->release(device->index, at);
    return;
  }
  cw_simple_slot* slot = cw_simple_slot_of(device, at);
  if (slot == NULL || slot->start == NULL) return;
  cw_simple_wipe(slot->start, slot->bytes);
  char* start = slot->start;
  __atomic_store_n(&slot->start, (char*)NULL, __ATOMIC_RELEASE);
  free(start);
}

// The pointer to `bytes` bytes at a device address; null stays null, and addresses of the chip's
// own memory stay as they are.
CW_SIMPLE_LOCAL int32_t cw_simple_find(cw_device* device, const void* at, uint64_t bytes,
                                       void** found) {
  *found = (void*)(uintptr_t)at;
  if (at == NULL || cw_simple_chip_of_library()->memory != NULL) return 0;
  const cw_simple_slot* slot = cw_simple_slot_of(device, at);
  const uint64_t offset = ((uint64_t)(uintptr_t)at - CW_SIMPLE_FIRST) % CW_SIMPLE_WINDOW;
  if (slot == NULL || slot->start == NULL || offset > slot->bytes ||
      bytes > slot->bytes - offset) {
    return cw_simple_fail("%llu bytes at %p are not memory of the device",
                          (unsigned long long)bytes, at);
  }
  *found = slot->start + offset;
  return 0;
}

// ---- Queues ----

CW_SIMPLE_LOCAL int32_t cw_simple_open_queue(cw_device* device, cw_queue** queue) {
  cw_queue* own = (cw_queue*)calloc(1, sizeof *own);
  if (own == NULL) return cw_simple_refused(device, &device->no_memory);
  own->device = device;
  *queue = own;
  return 0;
}

CW_SIMPLE_LOCAL void cw_simple_close_queue(cw_queue* queue) { free(queue); }

// Bytes to the device, or from it.
CW_SIMPLE_LOCAL int32_t cw_simple_move(cw_queue* queue, void* to, const void* from, uint64_t bytes,
                                       int up) {
  const cw_simple_memory* memory = cw_simple_chip_of_library()->memory;
  if (queue->failure != NULL || bytes == 0) return 0;
  if (memory != NULL) {
    const uint32_t index = queue->device->index;
    return cw_simple_done(queue, up ? memory->upload(index, to, from, bytes)
                                    : memory->download(index, to, from, bytes));
  }
  void* here = NULL;
  const int32_t code = cw_simple_find(queue->device, up ? to : from, bytes, &here);
  if (code == 0) memcpy(up ? here : to, up ? from : here, bytes);
  return cw_simple_done(queue, code);
}

CW_SIMPLE_LOCAL int32_t cw_simple_upload(cw_queue* queue, void* to, const void* from,
                                         uint64_t bytes) {
  return cw_simple_move(queue, to, from, bytes, 1);
}

CW_SIMPLE_LOCAL int32_t cw_simple_download(cw_queue* queue, void* to, const void* from,
                                           uint64_t bytes) {
  return cw_simple_move(queue, to, from, bytes, 0);
}

// ---- Launches ----

// A launch over pointers of the process. `blocks` is memory for those of a prepared_axis.
typedef struct cw_simple_found {
  cw_launch launch;
  void* data[CW_SIMPLE_OPERANDS];
  void** blocks;
} cw_simple_found;

CW_SIMPLE_LOCAL int32_t cw_simple_find_prepared(cw_device* device, const cw_kernel_row* row,
                                                cw_simple_found* found) {
  const void* prepared = found->launch.prepared;
  if (prepared == NULL) return 0;
  if (row->prepared_axis == 0) {
    void* block = NULL;
    const int32_t code = cw_simple_find(device, prepared, 0, &block);
    found->launch.prepared = block;
    return code;
  }
  const int64_t count = found->launch.dims[row->prepared_axis - 1];
  found->blocks = (void**)calloc((size_t)count + 1, sizeof(void*));
  if (found->blocks == NULL) return cw_simple_fail("out of host memory");
  for (int64_t i = 0; i < count; ++i) {
    const int32_t code = cw_simple_find(device, ((void* const*)prepared)[i], 0, &found->blocks[i]);
    if (code != 0) return code;
  }
  found->launch.prepared = found->blocks;
  return 0;
}

CW_SIMPLE_LOCAL int32_t cw_simple_find_launch(cw_device* device, const cw_kernel_row* row,
                                              const cw_launch* launch, cw_simple_found* found) {
  found->launch = *launch;
  found->launch.data = found->data;
  found->blocks = NULL;
  if (launch->operands > CW_SIMPLE_OPERANDS) {
    return cw_simple_fail("%u operands, at most %d", launch->operands, CW_SIMPLE_OPERANDS);
  }
  for (uint32_t i = 0; i < launch->operands; ++i) {
    const int32_t code = cw_simple_find(device, launch->data[i], 0, &found->data[i]);
    if (code != 0) return code;
  }
  return cw_simple_find_prepared(device, row, found);
}

CW_SIMPLE_LOCAL int32_t cw_simple_run(const cw_kernel_row* row, const cw_launch* launch,
                                      uint64_t units) {
  if (row->run == NULL) return cw_simple_fail("the row of %s has no function", row->symbol);
  const uint64_t bytes = row->scratch_bytes == NULL ? 0 : row->scratch_bytes(launch);
  char* scratch = bytes == 0 ? NULL : cw_simple_zeros(bytes);
  if (bytes > 0 && scratch == NULL) {
    return cw_simple_fail("out of scratch memory: %llu bytes requested",
                          (unsigned long long)bytes);
  }
  cw_simple_failed = 0;
  row->run(launch, 0, units, scratch);
  if (scratch != NULL) cw_simple_wipe(scratch, bytes);
  free(scratch);
  return cw_simple_failed ? CW_SIMPLE_REFUSED : 0;
}

CW_SIMPLE_LOCAL int32_t cw_simple_launch(cw_queue* queue, uint32_t row, const cw_launch* launch,
                                         uint32_t params, uint64_t units) {
  const cw_simple_chip* chip = cw_simple_chip_of_library();
  if (queue->failure != NULL) return 0;
  cw_simple_found found;
  int32_t code = cw_simple_find_launch(queue->device, &chip->rows[row], launch, &found);
  if (code == 0 && chip->launch != NULL) {
    code = chip->launch(queue->device->index, row, &found.launch, params, units);
  } else if (code == 0) {
    code = cw_simple_run(&chip->rows[row], &found.launch, units);
  }
  free(found.blocks);
  return cw_simple_done(queue, code);
}

CW_SIMPLE_LOCAL int32_t cw_simple_prepare(cw_queue* queue, uint32_t row, const cw_launch* launch,
                                          uint32_t params, void* prepared) {
  const cw_kernel_row* own = &cw_simple_chip_of_library()->rows[row];
  if (queue->failure != NULL) return 0;
  (void)params;
  cw_simple_found found;
  void* block = NULL;
  cw_launch bare = *launch;
  bare.prepared = NULL;
  int32_t code = cw_simple_find_launch(queue->device, own, &bare, &found);
  if (code == 0) code = cw_simple_find(queue->device, prepared, 0, &block);
  if (code == 0) own->prepare(&found.launch, block);
  return cw_simple_done(queue, code);
}

// ---- Events and checks ----

CW_SIMPLE_LOCAL int32_t cw_simple_record(cw_queue* queue, uint64_t* event) {
  *event = (uint64_t)(uintptr_t)queue->failure;
  return 0;
}

CW_SIMPLE_LOCAL int32_t cw_simple_wait(cw_queue* queue, uint64_t event) {
  if (queue->failure == NULL) queue->failure = (const cw_simple_failure*)(uintptr_t)event;
  return 0;
}

CW_SIMPLE_LOCAL int32_t cw_simple_finish(cw_queue* queue, uint64_t event) {
  const cw_simple_failure* failure = (const cw_simple_failure*)(uintptr_t)event;
  return failure == NULL ? 0 : cw_simple_refused(queue->device, failure);
}

CW_SIMPLE_LOCAL int32_t cw_simple_check(cw_queue* queue, const void* status, uint64_t check) {
  uint64_t word = 0;
  const int32_t code = cw_simple_download(queue, &word, status, sizeof word);
  if (code != 0 || queue->failure != NULL || word == 0) return code;
  snprintf(cw_simple_text, sizeof cw_simple_text, "check %llu failed", (unsigned long long)check);
  cw_simple_failure* failure = cw_simple_failure_of(queue->device, CW_DEVICE_WRONG_CONTENTS);
  failure->check.check = check;
  failure->check.status = word;
  queue->failure = failure;
  return 0;
}

CW_SIMPLE_LOCAL int32_t cw_simple_failed_check(cw_queue* queue, cw_failed_check* failed) {
  if (queue->failure == NULL || queue->failure->code != CW_DEVICE_WRONG_CONTENTS) {
    cw_simple_fail("no check of this queue failed");
    cw_device* device = queue->device;
    return cw_simple_refused(device, cw_simple_failure_of(device, CW_SIMPLE_REFUSED));
  }
  *failed = queue->failure->check;
  return 0;
}

// ---- The table ----

CW_SIMPLE_LOCAL const cw_kernel_row* cw_simple_kernels(uint64_t* count) {
  *count = cw_simple_chip_of_library()->row_count;
  return cw_simple_chip_of_library()->rows;
}

CW_SIMPLE_LOCAL uint32_t cw_simple_count(void) { return cw_simple_chip_of_library()->devices; }

CW_SIMPLE_LOCAL uint64_t cw_simple_features(uint32_t index) {
  (void)index;
  return 0;
}

// The functions of the kit, in the order of cw_device_functions.
#define CW_SIMPLE_FUNCTIONS                                                                      \
  {cw_simple_open,     cw_simple_close,       cw_simple_reason,      cw_simple_allocate,         \
   cw_simple_release,  cw_simple_open_queue,  cw_simple_close_queue, cw_simple_upload,           \
   cw_simple_download, cw_simple_launch,      cw_simple_prepare,     cw_simple_record,           \
   cw_simple_wait,     cw_simple_finish,      cw_simple_check,       cw_simple_failed_check}

// Costs of a device of which nothing is known: all its work goes there.
#define CW_SIMPLE_COSTS {0, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}

// Exports the table of a cw_simple_chip, with cw_device_functions of the library's choice.
#define CW_SIMPLE_TABLE(chip, own_functions)                                                     \
  static const cw_simple_chip* cw_simple_chip_of_library(void) { return &chip; }                 \
  CW_SIMPLE_EXPORT const cw_driver* cw_driver_table(void);                                       \
  CW_SIMPLE_EXPORT const cw_driver* cw_driver_table(void) {                                      \
    static cw_driver table;                                                                      \
    table.abi = CW_DEVICE_ABI;                                                                   \
    table.struct_bytes = sizeof table;                                                           \
    table.name = (chip).name;                                                                    \
    table.capabilities = (chip).capabilities;                                                    \
    table.costs = (chip).costs;                                                                  \
    table.count = cw_simple_count;                                                               \
    table.kernels = cw_simple_kernels;                                                           \
    table.features = cw_simple_features;                                                         \
    table.functions = &(own_functions);                                                          \
    return &table;                                                                               \
  }

// Exports a driver of one device over the kit's memory. `rows` is an array.
#define CW_SIMPLE_DRIVER(driver_name, rows)                                                      \
  static const cw_simple_chip cw_simple_own_chip = {                                             \
      driver_name, rows, sizeof(rows) / sizeof(rows)[0], 1, 0, NULL, NULL, CW_SIMPLE_COSTS};     \
  static const cw_device_functions cw_simple_own_functions = CW_SIMPLE_FUNCTIONS;                \
  CW_SIMPLE_TABLE(cw_simple_own_chip, cw_simple_own_functions)

// ---- For kernels ----

// Where operand `operand` is at a unit of the first `split` dimensions: its element [unit, 0, ...],
// in elements from `data`.
CW_SIMPLE_LOCAL int64_t cw_simple_offset(const cw_launch* launch, uint32_t operand, uint32_t split,
                                         uint64_t unit) {
  const int64_t* strides = launch->strides + (uint64_t)operand * launch->rank;
  int64_t offset = 0;
  for (uint32_t axis = split; axis-- > 0;) {
    const uint64_t size = (uint64_t)launch->dims[axis];
    offset += (int64_t)(unit % size) * strides[axis];
    unit /= size;
  }
  return offset;
}

// That element: an lvalue of `type`.
#define CW_SIMPLE_AT(type, launch, operand, split, unit) \
  (((type*)(launch)->data[operand])[cw_simple_offset(launch, operand, split, unit)])

#endif  // CLOAKWORK_SIMPLE_DEVICE_H_
