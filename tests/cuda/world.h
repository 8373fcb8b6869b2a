// The world of the made-up libcuda: its settings, device memory, streams and graphs.
#ifndef CLOAKWORK_TESTS_CUDA_WORLD_H_
#define CLOAKWORK_TESTS_CUDA_WORLD_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cloakwork/cuda.h"
#include "image.h"

namespace {

enum : int {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinary = 209,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
};

constexpr uint8_t kNoise = 0xA5;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kArenaBytes = uint64_t{1} << 36;

// Words of MADE_UP_CUDA, separated by spaces:
//   devices=N version=N capability=MAJOR.MINOR memory=BYTES pools=0|1 init=CODE load=CODE seed=N
//   fail=FUNCTION:NTH:CODE   the NTH call of a function gives an error, and does nothing
//   break=NTH:CODE           the NTH kernel breaks the context, as an illegal address does
//   break_in=TEXT:CODE       so does each kernel with this text in its name
struct Settings {
  int devices = 1, version = 13000, major = 9, minor = 0, pools = 1, init = 0, load = 0;
  uint64_t memory = uint64_t{1} << 32, seed = 1, break_at = 0;
  int break_code = 0;
  std::string break_in;
  std::map<std::string, std::pair<uint64_t, int>> failures;

  static Settings Read(const char* text) {
    Settings own;
    std::string words = text == nullptr ? "" : text;
    char* rest = nullptr;
    for (char* word = strtok_r(words.data(), " ", &rest); word != nullptr;
         word = strtok_r(nullptr, " ", &rest)) {
      char name[64];
      unsigned long long number = 0, nth = 0;
      int code = 0;
      if (sscanf(word, "fail=%63[^:]:%llu:%d", name, &nth, &code) == 3) {
        own.failures[name] = {nth, code};
      } else if (sscanf(word, "break=%llu:%d", &nth, &code) == 2) {
        own.break_at = nth, own.break_code = code;
      } else if (sscanf(word, "break_in=%63[^:]:%d", name, &code) == 2) {
        own.break_in = name, own.break_code = code;
      } else if (sscanf(word, "capability=%d.%d", &own.major, &own.minor) == 2) {
      } else if (sscanf(word, "%63[^=]=%llu", name, &number) == 2) {
        own.Set(name, number);
      } else {
        fprintf(stderr, "MADE_UP_CUDA: %s\n", word), abort();
      }
    }
    return own;
  }

  void Set(const std::string& name, uint64_t number) {
    const std::map<std::string, int*> numbers = {{"devices", &devices}, {"version", &version},
                                                 {"pools", &pools},     {"init", &init},
                                                 {"load", &load}};
    if (name == "memory") {
      memory = number;
    } else if (name == "seed") {
      seed = number;
    } else if (numbers.count(name) != 0) {
      *numbers.at(name) = static_cast<int>(number);
    } else {
      fprintf(stderr, "MADE_UP_CUDA: %s\n", name.c_str()), abort();
    }
  }
};

struct Event {
  uint64_t recorded = 0, happened = 0;
};

// An operation of a stream. `ready` says whether it can begin, `act` does it.
struct Operation {
  std::function<bool()> ready;
  std::function<int()> act;
};

struct Stream {
  std::deque<Operation> work;
};

struct Node {
  std::function<int()> act;  // empty: nothing
  std::vector<size_t> after;
};

struct Graph {
  std::vector<Node> nodes;
};

// A place in a graph: nodes are handed out as numbers from 1 on.
using NodeHandle = void*;

struct Function {
  const cw_made_up_image* image;
  void* kernel;
  std::string name;
  int shared_bytes = 48 << 10;
};

struct Allocation {
  uint64_t bytes;         // as requested
  uint64_t first, pages;  // what is mapped
};

struct World {
  std::recursive_mutex lock;
  Settings settings = Settings::Read(getenv("MADE_UP_CUDA"));
  pid_t process = 0;  // that called cuInit
  int broken = 0;     // the error that the context has for good
  uint64_t kernels = 0;
  std::map<std::string, uint64_t> calls;
  std::mt19937_64 random{settings.seed};
  uint8_t* arena = nullptr;
  uint64_t free_from = 0, in_use = 0;
  std::map<uint64_t, Allocation> memory;  // by address
  std::map<uint64_t, uint64_t> pinned;    // by address
  std::set<uint64_t> managed;             // addresses
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Graph*> graphs, execs;
  std::map<std::string, std::unique_ptr<Function>> functions;
  bool open = false;  // device memory can be accessed
};

World& world() {
  static World* own = new World;
  return *own;
}

thread_local std::vector<void*> current;
int the_context, the_pool;

// Device memory can be accessed while one of these lives.
class Opened {
 public:
  Opened() : outermost_(!world().open) { Set(PROT_READ | PROT_WRITE, true); }
  ~Opened() { Set(PROT_NONE, false); }

 private:
  void Set(int protection, bool open) {
    if (!outermost_) return;
    world().open = open;
    for (const auto& [at, one] : world().memory) {
      mprotect(reinterpret_cast<void*>(one.first), one.pages * kPage, protection);
    }
  }
  bool outermost_;
};

// Whether bytes lie in one allocation.
bool Holds(uint64_t at, uint64_t bytes) {
  auto next = world().memory.upper_bound(at);
  if (next == world().memory.begin()) return false;
  const auto& [start, one] = *std::prev(next);
  return at + bytes <= start + std::max<uint64_t>(one.bytes, 1);
}

int Allocate(uint64_t bytes, uint64_t* at) {
  World& own = world();
  if (bytes == 0) return kInvalidValue;
  if (bytes > own.settings.memory - own.in_use) return kOutOfMemory;
  if (own.arena == nullptr) {
    void* arena = mmap(nullptr, kArenaBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) return kOutOfMemory;
    own.arena = static_cast<uint8_t*>(arena);
  }
  const uint64_t pages = (bytes + kPage - 1) / kPage;
  if (own.free_from + (pages + 1) * kPage > kArenaBytes) return kOutOfMemory;
  const uint64_t first = reinterpret_cast<uint64_t>(own.arena) + own.free_from;
  own.free_from += (pages + 1) * kPage;  // a page behind each is never mapped
  own.in_use += bytes;
  // The end of the memory is close to the page that nobody may access.
  *at = first + (pages * kPage - bytes) / 256 * 256;
  Opened opened;
  own.memory[*at] = {bytes, first, pages};
  mprotect(reinterpret_cast<void*>(first), pages * kPage, PROT_READ | PROT_WRITE);
  memset(reinterpret_cast<void*>(*at), kNoise, bytes);
  return kOk;
}

int Free(uint64_t at) {
  World& own = world();
  auto found = own.memory.find(at);
  if (found == own.memory.end()) return kInvalidValue;
  const Allocation one = found->second;
  own.in_use -= one.bytes;
  own.memory.erase(found);
  // Addresses are never used again: a late access crashes.
  madvise(reinterpret_cast<void*>(one.first), one.pages * kPage, MADV_DONTNEED);
  mprotect(reinterpret_cast<void*>(one.first), one.pages * kPage, PROT_NONE);
  return kOk;
}

// Does one operation that can begin, of a random stream. False if there is none.
bool Step() {
  World& own = world();
  std::vector<Stream*> ready;
  for (Stream* stream : own.streams) {
    if (!stream->work.empty() && (!stream->work.front().ready || stream->work.front().ready())) {
      ready.push_back(stream);
    }
  }
  if (ready.empty()) return false;
  Stream* chosen = ready[own.random() % ready.size()];
  Operation operation = std::move(chosen->work.front());
  chosen->work.pop_front();
  const int code = own.broken != 0 ? own.broken : operation.act();
  if (code != 0) own.broken = code;
  return true;
}

// Works until something holds.
int Until(const std::function<bool()>& done) {
  Opened opened;
  while (!done() && world().broken == 0) {
    if (!Step()) fprintf(stderr, "made-up libcuda: a deadlock\n"), abort();
  }
  return world().broken;
}

bool AllDone() {
  const auto& all = world().streams;
  return std::all_of(all.begin(), all.end(), [](Stream* one) { return one->work.empty(); });
}

void Give(void* stream, std::function<int()> act, std::function<bool()> ready = {}) {
  static_cast<Stream*>(stream)->work.push_back({std::move(ready), std::move(act)});
}

// A copy of a kernel's call.
std::function<int()> Call(void* function, const uint32_t* blocks, uint32_t threads,
                          void** params) {
  struct Copied {
    cw_cuda_launch launch;
    uint64_t units, argument;
    void* memory;
    uint32_t blocks[3];
  };
  auto own = std::make_shared<Copied>();
  memcpy(&own->launch, params[0], sizeof own->launch);
  memcpy(&own->units, params[1], 8);
  memcpy(&own->argument, params[2], 8);
  memcpy(&own->memory, params[3], 8);
  memcpy(own->blocks, blocks, sizeof own->blocks);
  const Function* called = static_cast<Function*>(function);
  return [own, called, threads]() -> int {
    World& all = world();
    const std::string& text = all.settings.break_in;
    const bool is_named = !text.empty() && called->name.find(text) != std::string::npos;
    if (++all.kernels == all.settings.break_at || is_named) return all.settings.break_code;
    void* given[4] = {&own->launch, &own->units, &own->argument, &own->memory};
    called->image->run(called->kernel, own->blocks, threads, given);
    return kOk;
  };
}

// What every function begins with: the injected error, or what is wrong with the caller.
int Enter(const char* name, bool needs_context = true) {
  World& own = world();
  if (own.process != 0 && own.process != getpid()) pause();  // as bad as it can be
  auto failure = own.settings.failures.find(name);
  if (failure != own.settings.failures.end() && ++own.calls[name] == failure->second.first) {
    return failure->second.second;
  }
  if (own.process == 0) return kNotInitialized;
  if (needs_context && current.empty()) return kInvalidContext;
  return needs_context ? own.broken : kOk;
}

std::vector<size_t> After(const NodeHandle* after, size_t count, const Graph& graph, bool* valid) {
  std::vector<size_t> all;
  std::set<size_t> once;
  for (size_t i = 0; i < count; ++i) {
    const size_t number = reinterpret_cast<size_t>(after[i]) - 1;
    *valid = *valid && number < graph.nodes.size() && once.insert(number).second;
    all.push_back(number);
  }
  return all;
}

int AddNode(NodeHandle* node, void* graph, const NodeHandle* after, size_t count,
            std::function<int()> act) {
  Graph& own = *static_cast<Graph*>(graph);
  bool valid = world().graphs.count(&own) != 0;
  if (!valid) return kInvalidValue;
  std::vector<size_t> all = After(after, count, own, &valid);
  if (!valid) return kInvalidValue;
  own.nodes.push_back({std::move(act), std::move(all)});
  *node = reinterpret_cast<NodeHandle>(own.nodes.size());
  return kOk;
}

// Runs the nodes of a graph in a random order that its edges allow.
int RunGraph(const Graph& graph) {
  std::vector<size_t> waiting(graph.nodes.size());
  std::vector<std::vector<size_t>> next(graph.nodes.size());
  std::vector<size_t> ready;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    waiting[i] = graph.nodes[i].after.size();
    for (size_t before : graph.nodes[i].after) next[before].push_back(i);
    if (waiting[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const size_t place = world().random() % ready.size();
    const size_t chosen = ready[place];
    ready[place] = ready.back();
    ready.pop_back();
    const auto& act = graph.nodes[chosen].act;
    if (const int code = act ? act() : kOk) return code;
    for (size_t later : next[chosen]) {
      if (--waiting[later] == 0) ready.push_back(later);
    }
  }
  return kOk;
}

}  // namespace

#endif  // CLOAKWORK_TESTS_CUDA_WORLD_H_
