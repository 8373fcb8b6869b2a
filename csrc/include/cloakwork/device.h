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
// returns the number for later events. Earlier events are not affected.
#ifndef CLOAKWORK_DEVICE_H_
#define CLOAKWORK_DEVICE_H_

#include "cloakwork/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CW_DEVICE_ABI 5u

typedef struct cw_device cw_device;    // an open device: owned by the driver
typedef struct cw_queue cw_queue;      // work that is done in order: owned by the driver
typedef struct cw_segment cw_segment;  // launches that run together: owned by the driver

// Properties of a device: a set of bits, each of which changes the plans for it.
enum {
  // Its memory is the process's. The engine allocates it, moves no bytes to it, and runs launches
  // itself, split over its threads, by the table's rows or by the processor's; `functions` is null.
  CW_DEVICE_HOST_MEMORY = 1u << 0,
  // Neighbouring element-wise launches run block by block together. Needs HOST_MEMORY.
  CW_DEVICE_FUSES = 1u << 1,
  // Tensors whose last axis runs over moduli are stored with that axis outermost.
  CW_DEVICE_LIMB_MAJOR = 1u << 2,
  // Launches that no wait and no event separates become one segment, which each run after the
  // first submits by one call. Needs `segments`, and memory of its own.
  CW_DEVICE_SEGMENTS = 1u << 3,
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

// `finish` returns this number for a queue that failed because contents are wrong. Drivers use it
// for no other error.
#define CW_DEVICE_WRONG_CONTENTS (-1)
// Any function may return this number: the device is lost for this process, so that all later calls
// fail, as after an illegal address on a GPU. Where the driver has a process of its own, another
// one takes its place. Drivers use it for no other error.
#define CW_DEVICE_LOST (-2)

// The check at which a queue failed.
typedef struct cw_failed_check {
  uint64_t check;   // the caller's number of it
  uint64_t status;  // the status word
} cw_failed_check;

// Functions of a device with its own memory. None of them is null.
typedef struct cw_device_functions {
  // Opens device `index`. A process may open one several times. Where it fails it may still give a
  // device, which is null before: then `reason` says why, and `close` follows.
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
  // that queue failed before the event, this one fails in the same way.
  int32_t (*wait)(cw_queue* queue, uint64_t event);
  // The calling thread waits for an event; returns the error of the queue before it, or 0.
  int32_t (*finish)(cw_queue* queue, uint64_t event);

  // Reads a status word of the device's memory, which a launch of a check wrote before (docs/
  // kernels.md). Unless it is 0, the queue fails here with CW_DEVICE_WRONG_CONTENTS: launches that
  // come after may trust the contents. `check` is a number of the caller's.
  int32_t (*check)(cw_queue* queue, const void* status, uint64_t check);
  // The check at which a queue failed, itself or by a wait. Only after CW_DEVICE_WRONG_CONTENTS.
  int32_t (*failed_check)(cw_queue* queue, cw_failed_check* failed);
} cw_device_functions;

// The work of a node of a segment.
enum {
  CW_NODE_LAUNCH = 0,   // as `launch`
  CW_NODE_PREPARE = 1,  // as `prepare`
  CW_NODE_JOIN = 2,     // none: nodes after it are after all nodes that it is after
  CW_NODE_CHECK = 3,    // as `check`: nodes after it may trust the contents
};

// A node of a segment. Nodes are in an order in which they may run one after another. Nodes of
// which neither is after the other, directly or through others, may run at the same time or in any
// order; all others must run in the order of `after`. A check is after all checks before it. Where
// one fails, the queue fails there, and nodes that are not after it may have run or not.
typedef struct cw_node {
  uint32_t kind;            // CW_NODE_...
  uint32_t row;             // of the table
  uint32_t params;          // of the launch
  uint32_t after_count;     // length of `after`
  const cw_launch* launch;  // null for a join and a check
  uint64_t units;           // all units of a launch; the number of a check
  void* block;              // the device memory that a prepare writes; the status word of a check
  const uint32_t* after;    // nodes that are done before this one begins: smaller numbers
} cw_node;

// The contents of a range of memory outside of its segment.
enum {
  CW_RANGE_INPUT = 1u << 0,   // the segment finds contents there
  CW_RANGE_OUTPUT = 1u << 1,  // later work finds the contents that the segment leaves there
  // While it is in use, its contents are there: the host reads them where a check of them fails.
  CW_RANGE_CHECKED = 1u << 2,
};

// Device memory that nodes of a segment access. Together the ranges hold all bytes that nodes
// access, and a node accesses each byte of a range. Each operand that is not null, and each
// prepared block, begins in a range; an operand without elements in one of no bytes. The contents
// of a range mean nothing before node `first` and after node `last`, except as the flags say: other
// ranges may hold the same bytes then. A driver may keep the contents of a range without flags
// elsewhere. Constants, which no node writes, are inputs and outputs.
typedef struct cw_range {
  void* at;
  uint64_t bytes;
  uint32_t first;  // the first node that accesses it
  uint32_t last;   // the last one
  uint64_t flags;  // CW_RANGE_... bits
} cw_range;

// What a segment is built from.
typedef struct cw_segment_parts {
  const cw_node* nodes;
  uint64_t node_count;
  const cw_range* ranges;
  uint64_t range_count;
} cw_segment_parts;

// How a device runs segments: launches that its driver gets at once, for a graph or for a compiler
// of its own. None of them is null.
typedef struct cw_segment_functions {
  // Makes a segment of launches, whose addresses stay valid until it is released. Everything that
  // an argument leads to in host memory is copied before the function returns. A null segment says
  // that the driver prefers to get these launches one by one.
  int32_t (*build)(cw_device* device, const cw_segment_parts* parts, cw_segment** segment);
  // Runs all nodes after all that is in the queue, and may return before they are done. A segment
  // runs any number of times, always in the same queue; the next run may be submitted before one
  // is done. Where a node fails, the queue does.
  int32_t (*run)(cw_queue* queue, cw_segment* segment);
  // No queue has work of the segment any more. Segments are released before the memory that they
  // access, their queue and their device.
  void (*release)(cw_device* device, cw_segment* segment);
} cw_segment_functions;

typedef struct cw_driver {
  uint32_t abi;           // CW_DEVICE_ABI
  uint32_t struct_bytes;  // sizeof(cw_driver)
  const char* name;       // of its devices: "sim" for sim:0, sim:1, ...
  uint64_t capabilities;  // CW_DEVICE_... bits
  cw_device_costs costs;

  // How many devices there are now; UINT32_MAX: as many as are opened. Plans are made for devices
  // with smaller indices alone.
  uint32_t (*count)(void);
  // Its kernels. Only the driver calls their `run`, unless it has HOST_MEMORY; all other fields
  // mean the same as for the processor.
  const cw_kernel_row* (*kernels)(uint64_t* count);
  // The features of device `index`, open or not. Plans use the rows that need no other features; a
  // plan for an instruction set uses no other processor features.
  uint64_t (*features)(uint32_t index);
  const cw_device_functions* functions;
  const cw_segment_functions* segments;  // null without CW_DEVICE_SEGMENTS
} cw_driver;

// The one symbol that a library with a driver exports: its table.
typedef const cw_driver* (*cw_driver_table_fn)(void);
#define CW_DRIVER_TABLE_SYMBOL "cw_driver_table"
// Another one that it may export: declarations of ops that only its devices have, as the text of a
// file (docs/custom-ops.md). A file beside the library serves the same: libmychip.toml.
typedef const char* (*cw_driver_ops_fn)(void);
#define CW_DRIVER_OPS_SYMBOL "cw_driver_ops"

// Sizes and offsets of the structs above, for the test that compares them with Rust's mirrors.
const uint64_t* cw_device_layout(uint64_t* count);

#ifdef __cplusplus
}
#endif

#endif  // CLOAKWORK_DEVICE_H_
