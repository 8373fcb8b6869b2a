// An implementation with tensors and memory of its own, behind the adapter: what a vendor with
// functions in HEAL's shape writes. The tensors are held by shared pointers; the memory belongs to
// a chip of 64 MiB that hands out offsets, which no host pointer is.
#include <memory>
#include <stdexcept>

#include "cloakwork/heal_device.hpp"

__extension__ typedef __int128 wide;

// ---- The vendor's library, which knows nothing of Cloakwork ----

namespace vendor {

constexpr uint64_t kBytes = 64 << 20;
constexpr uintptr_t kFirst = uintptr_t{1} << 44;  // the chip's address 0

struct Chip {
  std::unique_ptr<char[]> bytes{new char[kBytes]()};
  uint64_t used = 0;
};

Chip& chip() {
  static Chip only;
  return only;
}

char* on_chip(const void* address) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - kFirst;
  if (offset >= kBytes) throw std::out_of_range("an address that the chip does not have");
  return chip().bytes.get() + offset;
}

template <class T>
struct Tensor {
  void* address;
  std::vector<int64_t> shape;
  std::vector<int64_t> steps;

  T& operator[](int64_t i) const {
    int64_t offset = 0;
    for (size_t axis = shape.size(); axis-- > 0; i /= shape[axis]) {
      offset += i % shape[axis] * steps[axis];
    }
    return reinterpret_cast<T*>(on_chip(address))[offset];
  }
  int64_t count() const {
    int64_t product = 1;
    for (const int64_t size : shape) product *= size;
    return product;
  }
};

template <class T>
using Handle = std::shared_ptr<Tensor<T>>;

template <class T>
void multiply(const Handle<T>& a, const Handle<T>& b, const Handle<T>& p, Handle<T>& result) {
  for (int64_t i = 0; i < result->count(); ++i) {
    const T q = (*p)[p->count() == 1 ? 0 : i % result->shape.back()];
    if (q == 13) throw std::runtime_error("the chip does not like 13");
    (*result)[i] = static_cast<T>(static_cast<wide>((*a)[i]) * (*b)[i] % q);
  }
}

}  // namespace vendor

// ---- The shim ----

namespace {

int32_t allocate(uint32_t, uint64_t bytes, void** at) {
  const uint64_t room = (bytes + 64) / 64 * 64;
  if (room > vendor::kBytes - vendor::chip().used) return cw_simple_fail("the chip is full");
  *at = reinterpret_cast<void*>(vendor::kFirst + vendor::chip().used);
  vendor::chip().used += room;
  return 0;
}

void release(uint32_t, void*) {}

int32_t upload(uint32_t, void* to, const void* from, uint64_t bytes) {
  memcpy(vendor::on_chip(to), from, bytes);
  return 0;
}

int32_t download(uint32_t, void* to, const void* from, uint64_t bytes) {
  memcpy(to, vendor::on_chip(from), bytes);
  return 0;
}

constexpr cw_simple_memory kMemory = {allocate, release, upload, download};

struct Shim {
  template <class T>
  static vendor::Handle<T> tensor(T* data, std::vector<int64_t> dims,
                                  std::vector<int64_t> strides) {
    return std::make_shared<vendor::Tensor<T>>(vendor::Tensor<T>{data, dims, strides});
  }
  static const cw_simple_memory* memory() { return &kMemory; }

  // 64-bit residues alone: the host has those of 32 bits.
  static void modmul_ttt(vendor::Handle<int64_t>& a, vendor::Handle<int64_t>& b,
                         vendor::Handle<int64_t>& p, vendor::Handle<int64_t>& out) {
    vendor::multiply(a, b, p, out);
  }
};

}  // namespace

CLOAKWORK_HEAL_DEVICE("mychip", Shim)
