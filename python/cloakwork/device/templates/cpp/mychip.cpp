// A device in C++: one function an op, in the shape of HEAL's vendor interface.
//
//   make                                  # libmychip.so
//   cloakwork run t.json --device ./libmychip.so
//
// The header calls each function with tensors of dims and strides, and lists the types that it
// takes: heal_ops.hpp has the arguments of every op. Steps without a function run on the host.
#include "cloakwork/heal_device.hpp"

using cloakwork::heal::DeviceTensor;

// Products of two words.
__extension__ typedef __int128 wide;

struct MyChip {
  // out = a
  template <class T>
  static void contiguous(const DeviceTensor<T>& a, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) out.element(i) = a.element(i);
  }

  // out = (a + b) % p
  template <class T>
  static void modsum_ttt(const DeviceTensor<T>& a, const DeviceTensor<T>& b,
                         const DeviceTensor<T>& p, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      const wide sum = static_cast<wide>(a.element(i)) + b.element(i);
      out.element(i) = static_cast<T>(sum % modulus(p, out, i));
    }
  }

  // out = (a * b) % p
  template <class T>
  static void modmul_ttt(const DeviceTensor<T>& a, const DeviceTensor<T>& b,
                         const DeviceTensor<T>& p, DeviceTensor<T>& out) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      const wide product = static_cast<wide>(a.element(i)) * b.element(i);
      out.element(i) = static_cast<T>(product % modulus(p, out, i));
    }
  }

 private:
  // The modulus of element i: p lies along the last axis, or is one number.
  template <class T>
  static T modulus(const DeviceTensor<T>& p, const DeviceTensor<T>& out, int64_t i) {
    return p.at(p.dims[0] == 1 ? 0 : i % out.dims.back());
  }
};

CLOAKWORK_HEAL_DEVICE("mychip", MyChip)
