// The C table of a driver: how Cloakwork reaches a device that has memory of its own.
//
// A driver is a table of functions. Rust decides what runs where and when; a driver allocates its
// device's memory, moves bytes, and runs kernels in queues. Its own rows of kernels say what it
// computes. Addresses of its memory are the driver's: Rust adds offsets to them and hands them
// back, and never looks at what is there. `cpu` and `disk` (crates/devices/src) are drivers whose
// memory is the process's; `sim` is a driver over memory that the host cannot touch.
//
// Threads: any thread may call any function; calls on one queue never overlap. A driver may be
// never unloaded: its table, rows and texts live as long as the process.
//
// Errors: functions that give int32_t give 0 where all is well, else a number of the driver's; then
// `reason` says in words what was wrong. A queue in which something failed does nothing from there
// on, and `finish` gives the number.
#ifndef CLOAKWORK_DEVICE_H_
#define CLOAKWORK_DEVICE_H_

#include "cloakwork/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CW_DEVICE_ABI 3u

typedef struct cw_device cw_device;  // an open device: the driver's own
typedef struct cw_queue cw_queue;    // work that is done in its order: the driver's own

// What a device is like: a set of bits, each of which changes what is planned for it.
enum {
  // Its memory is the process's. The engine allocates it, moves nothing to it, and runs launches
  // itself, split over its threads, by the table's rows or by the processor's; `functions` is null.
  CW_DEVICE_HOST_MEMORY = 1u << 0,
  // Neighbouring element-wise launches run block by block together. Needs HOST_MEMORY.
  CW_DEVICE_FUSES = 1u << 1,
  // Tensors whose last axis runs over moduli are stored with that axis outermost.
  CW_DEVICE_LIMB_MAJOR = 1u << 2,
};

// What a device costs, as far as its maker knows; plans are made by these numbers. A rate of
// UINT64_MAX takes no time.
typedef struct cw_device_costs {
  uint64_t launch_ns;              // of a launch beside its work
  uint64_t transfer_ns;            // of a transfer beside its bytes
  uint64_t upload_bytes_per_us;    // from the host
  uint64_t download_bytes_per_us;  // to the host
  uint64_t memory_bytes_per_us;    // that a launch reads and writes; of the processor, one core
  uint64_t operations_per_us;      // that a launch computes; of the processor, one core
} cw_device_costs;

// How a device is reached whose memory is its own. None of them is null.
typedef struct cw_device_functions {
  // Opens device `index`. A process may open one several times.
  int32_t (*open)(uint32_t index, cw_device** device);
  void (*close)(cw_device* device);
  // Writes what went wrong last, cut to `bytes` with the zero behind it.
  void (*reason)(cw_device* device, char* text, uint64_t bytes);

  // Memory of zeros, aligned to 64 bytes.
  int32_t (*allocate)(cw_device* device, uint64_t bytes, void** at);
  void (*release)(cw_device* device, void* at);

  int32_t (*open_queue)(cw_device* device, cw_queue** queue);
  // Waits until all of it is done.
  void (*close_queue)(cw_queue* queue);

  // Each of these may return before it is done. Host memory stays as it is until then; everything
  // else that an argument leads to is copied before the function returns.
  int32_t (*upload)(cw_queue* queue, void* to, const void* from, uint64_t bytes);
  int32_t (*download)(cw_queue* queue, void* to, const void* from, uint64_t bytes);
  // Runs all units of a launch, which has so many params, by row `row` of the table.
  // `launch->data` leads to the device's memory; so does `prepared`, which for a row with a
  // prepared_axis is an array (in host memory) of such addresses.
  int32_t (*launch)(cw_queue* queue, uint32_t row, const cw_launch* launch, uint32_t params,
                    uint64_t units);
  // Runs the row's `prepare` into device memory.
  int32_t (*prepare)(cw_queue* queue, uint32_t row, const cw_launch* launch, uint32_t params,
                     void* prepared);

  // An event that has happened when all before it in the queue is done. Events are forgotten when
  // the device is closed.
  int32_t (*record)(cw_queue* queue, uint64_t* event);
  // What comes after in the queue begins when an event of another queue of the device has
  // happened; where that queue failed, this one fails.
  int32_t (*wait)(cw_queue* queue, uint64_t event);
  // The calling thread waits for an event; gives what went wrong in the queue before it.
  int32_t (*finish)(cw_queue* queue, uint64_t event);
} cw_device_functions;

typedef struct cw_driver {
  uint32_t abi;           // CW_DEVICE_ABI
  uint32_t struct_bytes;  // sizeof(cw_driver)
  const char* name;       // of its devices: "sim" for sim:0, sim:1, ...
  uint64_t capabilities;  // CW_DEVICE_... bits
  cw_device_costs costs;

  // Its kernels. Their `run` is the driver's affair unless it has HOST_MEMORY; all else means what
  // it means for the processor.
  const cw_kernel_row* (*kernels)(uint64_t* count);
  // The features that device `index` has, whether it is open or not. Plans use the rows that need
  // no others; a plan for an instruction set uses no other features of processors.
  uint64_t (*features)(uint32_t index);
  const cw_device_functions* functions;
} cw_driver;

// Sizes and offsets of the structs above, for the test that compares them with Rust's mirrors.
const uint64_t* cw_device_layout(uint64_t* count);

#ifdef __cplusplus
}
#endif

#endif  // CLOAKWORK_DEVICE_H_
