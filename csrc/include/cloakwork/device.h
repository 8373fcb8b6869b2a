// The C table of a driver: Cloakwork's access to a device with its own memory.
//
// A driver is a table of functions. Rust decides which steps run, where and when; a driver
// allocates its device's memory, moves bytes, and runs kernels in queues. Its kernel rows list the
// kernels of the device. Addresses of its memory belong to the driver: Rust adds offsets to them
// and passes them back, and never dereferences them. `cpu` and `disk` (crates/devices/src) are
// drivers whose memory is the process's; `sim` is a driver over memory that the host cannot touch.
//
// Threads: any thread may call any function; calls on one queue never overlap. A driver is never
// unloaded: its table, rows and texts live as long as the process.
//
// Errors: functions that return int32_t return 0 on success, else a number of the driver's; then
// `reason` gives the error as text. After an error a queue does no further work, and `finish`
// returns the number.
#ifndef CLOAKWORK_DEVICE_H_
#define CLOAKWORK_DEVICE_H_

#include "cloakwork/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CW_DEVICE_ABI 3u

typedef struct cw_device cw_device;  // an open device: owned by the driver
typedef struct cw_queue cw_queue;    // work that is done in order: owned by the driver

// Properties of a device: a set of bits, each of which changes the plans for it.
enum {
  // Its memory is the process's. The engine allocates it, moves no bytes to it, and runs launches
  // itself, split over its threads, by the table's rows or by the processor's; `functions` is null.
  CW_DEVICE_HOST_MEMORY = 1u << 0,
  // Neighbouring element-wise launches run block by block together. Needs HOST_MEMORY.
  CW_DEVICE_FUSES = 1u << 1,
  // Tensors whose last axis runs over moduli are stored with that axis outermost.
  CW_DEVICE_LIMB_MAJOR = 1u << 2,
};

// Costs of a device, as far as its maker knows; the planner uses these numbers. A rate of
// UINT64_MAX takes no time.
typedef struct cw_device_costs {
  uint64_t launch_ns;              // of a launch beside its work
  uint64_t transfer_ns;            // of a transfer beside its bytes
  uint64_t upload_bytes_per_us;    // from the host
  uint64_t download_bytes_per_us;  // to the host
  uint64_t memory_bytes_per_us;    // that a launch reads and writes; of the processor, one core
  uint64_t operations_per_us;      // that a launch computes; of the processor, one core
} cw_device_costs;

// Functions of a device with its own memory. None of them is null.
typedef struct cw_device_functions {
  // Opens device `index`. A process may open one several times.
  int32_t (*open)(uint32_t index, cw_device** device);
  void (*close)(cw_device* device);
  // Writes the last error as text, cut to `bytes` including the terminating zero.
  void (*reason)(cw_device* device, char* text, uint64_t bytes);

  // Allocates zeroed memory, aligned to 64 bytes.
  int32_t (*allocate)(cw_device* device, uint64_t bytes, void** at);
  void (*release)(cw_device* device, void* at);

  int32_t (*open_queue)(cw_device* device, cw_queue** queue);
  // Waits until all of its work is done.
  void (*close_queue)(cw_queue* queue);

  // Each of these may return before its work is done. Host memory stays unchanged until then; all
  // other memory that an argument points to is copied before the function returns.
  int32_t (*upload)(cw_queue* queue, void* to, const void* from, uint64_t bytes);
  int32_t (*download)(cw_queue* queue, void* to, const void* from, uint64_t bytes);
  // Runs all units of a launch with `params` params, by row `row` of the table. `launch->data`
  // holds addresses of the device's memory, and so does `prepared`, which for a row with a
  // prepared_axis is an array (in host memory) of such addresses.
  int32_t (*launch)(cw_queue* queue, uint32_t row, const cw_launch* launch, uint32_t params,
                    uint64_t units);
  // Runs the row's `prepare` into device memory.
  int32_t (*prepare)(cw_queue* queue, uint32_t row, const cw_launch* launch, uint32_t params,
                     void* prepared);

  // Records an event that happens when all earlier work of the queue is done. Closing the device
  // drops its events.
  int32_t (*record)(cw_queue* queue, uint64_t* event);
  // Later work of the queue begins when an event of another queue of the device has happened; if
  // that queue failed, this one fails.
  int32_t (*wait)(cw_queue* queue, uint64_t event);
  // The calling thread waits for an event; returns the error of the queue before it, or 0.
  int32_t (*finish)(cw_queue* queue, uint64_t event);
} cw_device_functions;

typedef struct cw_driver {
  uint32_t abi;           // CW_DEVICE_ABI
  uint32_t struct_bytes;  // sizeof(cw_driver)
  const char* name;       // of its devices: "sim" for sim:0, sim:1, ...
  uint64_t capabilities;  // CW_DEVICE_... bits
  cw_device_costs costs;

  // Its kernels. Only the driver calls their `run`, unless it has HOST_MEMORY; all other fields
  // mean the same as for the processor.
  const cw_kernel_row* (*kernels)(uint64_t* count);
  // The features of device `index`, open or not. Plans use the rows that need no other features; a
  // plan for an instruction set uses no other processor features.
  uint64_t (*features)(uint32_t index);
  const cw_device_functions* functions;
} cw_driver;

// Sizes and offsets of the structs above, for the test that compares them with Rust's mirrors.
const uint64_t* cw_device_layout(uint64_t* count);

#ifdef __cplusplus
}
#endif

#endif  // CLOAKWORK_DEVICE_H_
