// The driver's own kernels: they let a queue fail without the host, and bring bytes to the device
// unless it has failed. Each has the parameters of all kernels (cloakwork/cuda.h); its integers are
// the first words of the launch.
#include "cloakwork/cuda.h"

// The state of a queue; crates/devices/src/cuda/state.rs mirrors it. The queue has failed where
// `failed` is not 0: it is the number of the queue's first event behind the failure.
struct cw_cuda_state {
  uint64_t failed;
  uint64_t check;   // that failed
  uint64_t status;  // its status word
  uint64_t next;    // the queue's next event, for checks of segments
};

// Writes a failure to the state and to its mirror in memory of the host, the first word last.
static __device__ void Fail(const cw_cuda_launch& launch, uint64_t check, uint64_t status,
                            uint64_t next) {
  volatile cw_cuda_state* state = (volatile cw_cuda_state*)launch.data[0];
  volatile cw_cuda_state* mirror = (volatile cw_cuda_state*)launch.data[1];
  if (next == 0) next = state->next;
  state->check = check;
  state->status = status;
  mirror->check = check;
  mirror->status = status;
  __threadfence_system();
  mirror->failed = next;
  state->failed = next;
}

// data: the state, its mirror, a status word; words: the number of the check, the next event or 0.
// The queue fails unless the status word is 0.
extern "C" __global__ void cw_cuda_check(cw_cuda_launch launch, uint64_t, uint64_t,
                                         unsigned char*) {
  const cw_cuda_state* state = (const cw_cuda_state*)launch.data[0];
  const uint64_t status = *(const uint64_t*)launch.data[2];
  if (state->failed != 0 || status == 0) return;
  Fail(launch, (uint64_t)launch.words[0], status, (uint64_t)launch.words[1]);
}

// data: the state, its mirror, another queue's state; words: an event of that queue, the own next
// event. The queue fails as the other one did, if it did so before the event.
extern "C" __global__ void cw_cuda_inherit(cw_cuda_launch launch, uint64_t, uint64_t,
                                           unsigned char*) {
  const cw_cuda_state* state = (const cw_cuda_state*)launch.data[0];
  const volatile cw_cuda_state* other = (const volatile cw_cuda_state*)launch.data[2];
  const uint64_t failed = other->failed;
  if (state->failed != 0 || failed == 0 || failed > (uint64_t)launch.words[0]) return;
  Fail(launch, other->check, other->status, (uint64_t)launch.words[1]);
}

// data: the state; words: the queue's next event.
extern "C" __global__ void cw_cuda_next(cw_cuda_launch launch, uint64_t, uint64_t,
                                        unsigned char*) {
  ((cw_cuda_state*)launch.data[0])->next = (uint64_t)launch.words[0];
}

// data: memory of the device, pinned memory of the host; units: how many bytes. Copies them to the
// device, 16 at a time where both addresses allow it.
extern "C" __global__ void cw_cuda_upload(cw_cuda_launch launch, uint64_t units, uint64_t,
                                          unsigned char*) {
  if (*launch.failed != 0) return;
  unsigned char* to = (unsigned char*)launch.data[0];
  const unsigned char* from = (const unsigned char*)launch.data[1];
  const uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
  uint64_t copied = 0;
  if ((((uint64_t)to | (uint64_t)from) & 15) == 0) {
    struct alignas(16) Words {
      uint64_t words[2];
    };
    for (uint64_t i = first; i < units / 16; i += step) ((Words*)to)[i] = ((const Words*)from)[i];
    copied = units / 16 * 16;
  }
  for (uint64_t i = copied + first; i < units; i += step) to[i] = from[i];
}
