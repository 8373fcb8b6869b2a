// A made-up libcuda.so.1: NVIDIA's driver API as far as Cloakwork calls it, on the processor.
//
// Its device memory can be accessed only while it works: a host that follows an address of the
// device crashes. Streams are lazy: work is done, in a random order that streams, events and the
// edges of graphs allow, when somebody waits. So a wait that is missing shows. Fresh and freed
// memory holds noise. Faults are injected by words in MADE_UP_CUDA, see `Settings`.
#include "world.h"

#define ENTER(name, ...)                                          \
  std::lock_guard<std::recursive_mutex> locked(world().lock);      \
  if (const int error = Enter(name __VA_OPT__(, ) __VA_ARGS__)) {  \
    return error;                                                  \
  }

extern "C" {

int cuInit(unsigned flags) {
  World& own = world();
  std::lock_guard<std::recursive_mutex> locked(own.lock);
  if (own.process != 0 && own.process != getpid()) pause();
  if (flags != 0) return kInvalidValue;
  if (own.settings.init != 0) return own.settings.init;
  if (own.settings.devices == 0) return kNoDevice;
  own.process = getpid();
  return kOk;
}

int cuDriverGetVersion(int* version) {
  *version = world().settings.version;
  return kOk;
}

int cuGetErrorName(int code, const char** text) {
  static const std::map<int, const char*> names = {{2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                   {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                   {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                   {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = names.find(code);
  *text = found == names.end() ? nullptr : found->second;
  return found == names.end() ? kInvalidValue : kOk;
}

int cuGetErrorString(int code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory" : "some error";
  return kOk;
}

int cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount", false)
  *count = world().settings.devices;
  return kOk;
}

int cuDeviceGet(int* device, int index) {
  ENTER("cuDeviceGet", false)
  *device = index;
  return index < world().settings.devices ? kOk : kInvalidDevice;
}

int cuDeviceGetName(char* text, int bytes, int) {
  ENTER("cuDeviceGetName", false)
  snprintf(text, static_cast<size_t>(bytes), "Made-up GPU");
  return kOk;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  ENTER("cuDeviceGetAttribute", false)
  const Settings& own = world().settings;
  const std::map<int, int> values = {
      {16, 2}, {75, own.major}, {76, own.minor}, {97, 232448}, {115, own.pools}};
  const auto found = values.find(attribute);
  if (found == values.end()) return kInvalidValue;
  *value = found->second;
  return kOk;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
  ENTER("cuDevicePrimaryCtxRetain", false)
  *context = &the_context;
  return kOk;
}

int cuCtxPushCurrent_v2(void* context) {
  ENTER("cuCtxPushCurrent", false)
  if (context != &the_context) return kInvalidContext;
  current.push_back(context);
  return kOk;
}

int cuCtxPopCurrent_v2(void** context) {
  if (current.empty()) return kInvalidContext;
  *context = current.back();
  current.pop_back();
  return kOk;
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER("cuMemGetInfo")
  *total = world().settings.memory;
  *free = *total - world().in_use;
  return kOk;
}

int cuMemAlloc_v2(uint64_t* at, size_t bytes) {
  ENTER("cuMemAlloc")
  return Allocate(bytes, at);
}

// Memory that the host may access at any time.
int cuMemAllocManaged(uint64_t* at, size_t bytes, unsigned flags) {
  ENTER("cuMemAllocManaged")
  if (bytes == 0 || flags != 1) return kInvalidValue;
  void* own = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (own == nullptr) return kOutOfMemory;
  memset(own, kNoise, bytes);
  *at = reinterpret_cast<uint64_t>(own);
  world().managed.insert(*at);
  return kOk;
}

int cuMemFree_v2(uint64_t at) {
  ENTER("cuMemFree")
  // It waits for all work, as the real one does.
  const int code = Until(AllDone);
  if (code != 0) return code;
  if (world().managed.erase(at) == 0) return Free(at);
  free(reinterpret_cast<void*>(at));
  return kOk;
}

int cuMemPoolCreate(void** pool, const void*) {
  ENTER("cuMemPoolCreate")
  if (world().settings.pools == 0) return 801;
  *pool = &the_pool;
  return kOk;
}

int cuMemPoolSetAttribute(void* pool, int attribute, void*) {
  ENTER("cuMemPoolSetAttribute")
  return pool == &the_pool && attribute == 4 ? kOk : kInvalidValue;
}

int cuMemPoolTrimTo(void* pool, size_t) {
  ENTER("cuMemPoolTrimTo")
  return pool == &the_pool ? kOk : kInvalidValue;
}

int cuMemAllocFromPoolAsync(uint64_t* at, size_t bytes, void* pool, void*) {
  ENTER("cuMemAllocFromPoolAsync")
  return pool == &the_pool ? Allocate(bytes, at) : kInvalidValue;
}

int cuMemFreeAsync(uint64_t at, void* stream) {
  ENTER("cuMemFreeAsync")
  if (world().memory.count(at) == 0) return kInvalidValue;
  Give(stream, [at] { return Free(at); });
  return kOk;
}

int cuMemHostAlloc(void** at, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc")
  *at = aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (*at == nullptr) return kOutOfMemory;
  memset(*at, kNoise, bytes);
  world().pinned[reinterpret_cast<uint64_t>(*at)] = bytes;
  return kOk;
}

int cuPointerGetAttribute(void* value, int attribute, uint64_t at) {
  ENTER("cuPointerGetAttribute")
  auto next = world().pinned.upper_bound(at);
  if (next == world().pinned.begin()) return kInvalidValue;
  const auto [start, bytes] = *std::prev(next);
  if (at >= start + bytes) return kInvalidValue;
  if (attribute == 2) {
    *static_cast<uint32_t*>(value) = 1;
  } else {
    *static_cast<uint64_t*>(value) = attribute == 11 ? start : bytes;
  }
  return kOk;
}

int cuMemsetD8Async(uint64_t at, unsigned char byte, size_t bytes, void* stream) {
  ENTER("cuMemsetD8Async")
  if (!Holds(at, bytes)) return kInvalidValue;
  Give(stream, [=] {
    if (!Holds(at, bytes)) return static_cast<int>(kIllegalAddress);
    memset(reinterpret_cast<void*>(at), byte, bytes);
    return static_cast<int>(kOk);
  });
  return kOk;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  ENTER("cuMemcpyHtoDAsync")
  if (!Holds(to, bytes)) return kInvalidValue;
  Give(stream, [=] {
    if (!Holds(to, bytes)) return static_cast<int>(kIllegalAddress);
    memcpy(reinterpret_cast<void*>(to), from, bytes);
    return static_cast<int>(kOk);
  });
  return kOk;
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  ENTER("cuMemcpyDtoHAsync")
  if (!Holds(from, bytes)) return kInvalidValue;
  Give(stream, [=] {
    if (!Holds(from, bytes)) return static_cast<int>(kIllegalAddress);
    memcpy(to, reinterpret_cast<void*>(from), bytes);
    return static_cast<int>(kOk);
  });
  return kOk;
}

int cuStreamCreate(void** stream, unsigned) {
  ENTER("cuStreamCreate")
  auto* own = new Stream;
  world().streams.insert(own);
  *stream = own;
  return kOk;
}

int cuStreamDestroy_v2(void* stream) {
  ENTER("cuStreamDestroy")
  auto* own = static_cast<Stream*>(stream);
  const int code = Until([own] { return own->work.empty(); });
  world().streams.erase(own);
  delete own;
  return code;
}

int cuStreamSynchronize(void* stream) {
  ENTER("cuStreamSynchronize")
  if (stream == nullptr) return kOk;
  return Until([stream] { return static_cast<Stream*>(stream)->work.empty(); });
}

int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  ENTER("cuStreamWaitEvent")
  auto* own = static_cast<Event*>(event);
  const uint64_t version = own->recorded;
  Give(
      stream, [] { return static_cast<int>(kOk); },
      [own, version] { return own->happened >= version; });
  return kOk;
}

int cuEventCreate(void** event, unsigned) {
  ENTER("cuEventCreate")
  auto* own = new Event;
  world().events.insert(own);
  *event = own;
  return kOk;
}

int cuEventDestroy_v2(void* event) {
  ENTER("cuEventDestroy")
  // Its memory stays: a stream may still get to it.
  return world().events.erase(static_cast<Event*>(event)) == 1 ? kOk : kInvalidValue;
}

int cuEventRecord(void* event, void* stream) {
  ENTER("cuEventRecord")
  auto* own = static_cast<Event*>(event);
  const uint64_t version = ++own->recorded;
  Give(stream, [own, version] {
    own->happened = std::max(own->happened, version);
    return static_cast<int>(kOk);
  });
  return kOk;
}

int cuEventQuery(void* event) {
  ENTER("cuEventQuery")
  auto* own = static_cast<Event*>(event);
  {
    Opened opened;
    for (uint64_t steps = world().random() % 3; steps > 0; --steps) Step();
  }
  if (world().broken != 0) return world().broken;
  return own->happened >= own->recorded ? kOk : kNotReady;
}

int cuEventSynchronize(void* event) {
  ENTER("cuEventSynchronize")
  auto* own = static_cast<Event*>(event);
  const uint64_t version = own->recorded;
  return Until([own, version] { return own->happened >= version; });
}

int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                       void** values) {
  ENTER("cuModuleLoadDataEx")
  const int code = world().settings.load;
  const auto* own = static_cast<const cw_made_up_image*>(image);
  if (code != 0) {
    if (count == 2 && options[0] == 5 && options[1] == 6) {
      snprintf(static_cast<char*>(values[0]), reinterpret_cast<size_t>(values[1]),
               "ptxas : some words of the compiler\n");
    }
    return code;
  }
  if (memcmp(own->magic, "madeupcw", 8) != 0) return kInvalidImage;
  *module = const_cast<cw_made_up_image*>(own);
  return kOk;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER("cuModuleGetFunction")
  auto& known = world().functions[name];
  if (known == nullptr) {
    const auto* image = static_cast<const cw_made_up_image*>(module);
    void* kernel = image->find(name);
    if (kernel == nullptr) return kNotFound;
    known = std::make_unique<Function>(Function{image, kernel, name});
  }
  *function = known.get();
  return kOk;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  ENTER("cuFuncSetAttribute")
  if (attribute != 8 || value > 232448) return kInvalidValue;
  static_cast<Function*>(function)->shared_bytes = value;
  return kOk;
}

// What a kernel's call must keep to.
static bool IsLaunch(void* function, unsigned x, unsigned y, unsigned z, unsigned threads,
                     unsigned shared_bytes) {
  const auto* own = static_cast<Function*>(function);
  return x > 0 && y > 0 && z > 0 && y < 65536 && z < 65536 && threads > 0 && threads <= 1024 &&
         static_cast<int>(shared_bytes) <= own->shared_bytes;
}

int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void* stream,
                   void** params, void**) {
  ENTER("cuLaunchKernel")
  if (!IsLaunch(function, x, y, z, threads, shared_bytes)) return kInvalidValue;
  if (threads_y != 1 || threads_z != 1) return kInvalidValue;
  const uint32_t blocks[3] = {x, y, z};
  Give(stream, Call(function, blocks, threads, params));
  return kOk;
}

int cuGraphCreate(void** graph, unsigned) {
  ENTER("cuGraphCreate")
  auto* own = new Graph;
  world().graphs.insert(own);
  *graph = own;
  return kOk;
}

int cuGraphDestroy(void* graph) {
  ENTER("cuGraphDestroy")
  auto* own = static_cast<Graph*>(graph);
  if (world().graphs.erase(own) == 0) return kInvalidValue;
  delete own;
  return kOk;
}

struct KernelNode {
  void* function;
  unsigned blocks[3], threads[3], shared_bytes;
  void **params, **extra;
};

int cuGraphAddKernelNode(void** node, void* graph, const NodeHandle* after, size_t count,
                         const KernelNode* own) {
  ENTER("cuGraphAddKernelNode")
  const unsigned* blocks = own->blocks;
  const unsigned threads = own->threads[0];
  if (!IsLaunch(own->function, blocks[0], blocks[1], blocks[2], threads, own->shared_bytes)) {
    return kInvalidValue;
  }
  return AddNode(node, graph, after, count,
                 Call(own->function, blocks, threads, own->params));
}

int cuGraphAddEmptyNode(void** node, void* graph, const NodeHandle* after, size_t count) {
  ENTER("cuGraphAddEmptyNode")
  return AddNode(node, graph, after, count, {});
}

int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  ENTER("cuGraphInstantiateWithFlags")
  auto* own = new Graph(*static_cast<Graph*>(graph));
  world().execs.insert(own);
  *exec = own;
  return kOk;
}

int cuGraphLaunch(void* exec, void* stream) {
  ENTER("cuGraphLaunch")
  auto* own = static_cast<Graph*>(exec);
  if (world().execs.count(own) == 0) return kInvalidValue;
  Give(stream, [own] { return RunGraph(*own); });
  return kOk;
}

#ifndef MADE_UP_OLD
int cuGraphExecDestroy(void* exec) {
  ENTER("cuGraphExecDestroy")
  auto* own = static_cast<Graph*>(exec);
  if (world().execs.erase(own) == 0) return kInvalidValue;
  delete own;
  return kOk;
}
#endif

// Takes other settings from here on, forgets how often functions were called, and mends the
// context.
void made_up_cuda_set(const char* settings) {
  std::lock_guard<std::recursive_mutex> locked(world().lock);
  world().settings = Settings::Read(settings);
  world().random.seed(world().settings.seed);
  world().calls.clear();
  world().kernels = 0;
  if (world().broken == 0) return;
  // What a broken context had to do is never done.
  for (Stream* stream : world().streams) stream->work.clear();
  world().broken = 0;
}

// What nobody has given back once all work is done: allocations, streams, events, graphs that run.
void made_up_cuda_live(uint64_t* counts) {
  std::lock_guard<std::recursive_mutex> locked(world().lock);
  Until(AllDone);
  counts[0] = world().memory.size();
  counts[1] = world().streams.size();
  counts[2] = world().events.size();
  counts[3] = world().execs.size() + world().graphs.size();
}

}  // extern "C"
