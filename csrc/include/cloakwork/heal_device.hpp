// A driver from functions in the shape of HEAL's vendor interface: one function an op, templates
// over tensors with dims and strides.
//
//   #include "cloakwork/heal_device.hpp"
//
//   struct MyChip {
//     template <class T>
//     static void modmul_ttt(const DeviceTensor<T>& a, const DeviceTensor<T>& b,
//                            const DeviceTensor<T>& p, DeviceTensor<T>& out) { ... }
//   };
//   CLOAKWORK_HEAL_DEVICE("mychip", MyChip)
//
// The driver has a kernel row for each function that the struct has, and each width that the
// function takes; steps without one run on the host. Arguments are in the order of transcripts,
// without the hints that Cloakwork does not pass (perm_pairs, log2q, mu, q_inv, level sizes).
// Scalars arrive as tensors of strides 0. A std::exception that a function throws fails the launch,
// with its text.
//
// An implementation with tensors of its own gives a function that makes them,
//
//   template <class T>
//   static auto tensor(T* data, std::vector<int64_t> dims, std::vector<int64_t> strides);
//
// and receives those in place of DeviceTensor<T>. Memory of its own is `static const
// cw_simple_memory* memory()`; `data` are its addresses then.
//
// Include it in one file of the library: C++17, GCC or Clang.
#ifndef CLOAKWORK_HEAL_DEVICE_HPP_
#define CLOAKWORK_HEAL_DEVICE_HPP_

#include <cstdint>
#include <deque>
#include <exception>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cloakwork/simple_device.h"

namespace cloakwork {
namespace heal {

enum class TensorType { int8, int32, int64 };

template <class T>
struct TypeOf;
template <>
struct TypeOf<int8_t> {
  static constexpr TensorType tensor = TensorType::int8;
  static constexpr const char* suffix = "_i8";
  static constexpr uint32_t dtype = CW_I8;
};
template <>
struct TypeOf<int32_t> {
  static constexpr TensorType tensor = TensorType::int32;
  static constexpr const char* suffix = "_i32";
  static constexpr uint32_t dtype = CW_I32;
};
template <>
struct TypeOf<int64_t> {
  static constexpr TensorType tensor = TensorType::int64;
  static constexpr const char* suffix = "_i64";
  static constexpr uint32_t dtype = CW_I64;
};

// A view of memory: element [i, j, ...] is data[i * strides[0] + j * strides[1] + ...]. Strides may
// be 0 or negative. It is good until the function returns.
template <class T>
struct DeviceTensor {
  T* data;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;

  static constexpr TensorType type = TypeOf<T>::tensor;

  int64_t ndim() const { return static_cast<int64_t>(dims.size()); }

  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : dims) count *= size;
    return count;
  }

  template <class... Index>
  T& at(Index... index) const {
    const int64_t places[] = {static_cast<int64_t>(index)...};
    int64_t offset = 0;
    for (size_t axis = 0; axis < sizeof...(index); ++axis) offset += places[axis] * strides[axis];
    return data[offset];
  }

  // Element i in row-major order.
  T& element(int64_t i) const {
    int64_t offset = 0;
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += i % dims[axis] * strides[axis];
      i /= dims[axis];
    }
    return data[offset];
  }
};

// ---- Tensors of a vendor ----

struct Axis {
  int64_t size;
  int64_t stride;
};

template <class V, class T, class = void>
struct Tensors {
  static DeviceTensor<T> make(T* data, std::vector<int64_t> dims, std::vector<int64_t> strides) {
    return {data, std::move(dims), std::move(strides)};
  }
};

template <class V, class T>
struct Tensors<V, T,
               std::void_t<decltype(V::template tensor<T>(std::declval<T*>(),
                                                          std::declval<std::vector<int64_t>>(),
                                                          std::declval<std::vector<int64_t>>()))>> {
  static auto make(T* data, std::vector<int64_t> dims, std::vector<int64_t> strides) {
    return V::template tensor<T>(data, std::move(dims), std::move(strides));
  }
};

template <class V, class T>
using TensorOf = decltype(Tensors<V, T>::make(nullptr, {}, {}));

template <class V, class = void>
struct MemoryOf {
  static const cw_simple_memory* get() { return nullptr; }
};
template <class V>
struct MemoryOf<V, std::void_t<decltype(V::memory())>> {
  static const cw_simple_memory* get() { return V::memory(); }
};

// ---- Launches as tensors ----

// A launch, or the part of it at one place along the axes that no tensor has.
class Part {
 public:
  explicit Part(const cw_launch* launch) : launch_(launch), base_(launch->operands, 0) {
    for (uint32_t axis = 0; axis < launch->rank; ++axis) axes_.push_back(axis);
  }

  int64_t size(uint32_t axis) const { return launch_->dims[axis]; }
  int64_t stride(uint32_t operand, uint32_t axis) const {
    return launch_->strides[static_cast<uint64_t>(operand) * launch_->rank + axis];
  }
  int64_t param(uint32_t i) const { return launch_->params[i]; }
  bool has(uint32_t operand) const { return launch_->data[operand] != nullptr; }
  Axis axis(uint32_t operand, uint32_t axis) const { return {size(axis), stride(operand, axis)}; }

  // All axes of an operand that are left, in their order.
  std::vector<Axis> axes(uint32_t operand) const {
    std::vector<Axis> found;
    for (const uint32_t each : axes_) found.push_back(axis(operand, each));
    return found;
  }

  template <class V, class T>
  TensorOf<V, T> tensor(uint32_t operand, const std::vector<Axis>& axes) const {
    std::vector<int64_t> dims, strides;
    for (const Axis& axis : axes) {
      dims.push_back(axis.size);
      strides.push_back(axis.stride);
    }
    T* data = static_cast<T*>(launch_->data[operand]);
    if (data != nullptr) data += base_[operand];
    return Tensors<V, T>::make(data, std::move(dims), std::move(strides));
  }

  // HEAL's vector of moduli lies along the last axis of a tensor. Of the axes along which operand
  // `q` varies, the last becomes the last of the part, or an axis of size 1 where there is none;
  // `call` gets a part for each place along the others.
  template <class F>
  static void by_modulus(const cw_launch* launch, uint32_t q, std::vector<uint32_t> axes,
                         const F& call) {
    Part part(launch);
    std::vector<uint32_t> outer, inner, moduli;
    for (const uint32_t axis : axes) {
      const bool varies = part.stride(q, axis) != 0 && part.size(axis) != 1;
      (varies ? moduli : inner).push_back(axis);
    }
    while (moduli.size() > 1) {
      outer.push_back(moduli.front());
      moduli.erase(moduli.begin());
    }
    part.axes_ = inner;
    part.modulus_ = moduli;
    part.each(outer, 0, call);
  }

  // The axis of moduli of an operand.
  Axis modulus(uint32_t operand) const {
    return modulus_.empty() ? Axis{1, 0} : axis(operand, modulus_[0]);
  }

  // The axes of an operand that are left, then that of the moduli.
  std::vector<Axis> axes_and_modulus(uint32_t operand) const {
    std::vector<Axis> found = axes(operand);
    found.push_back(modulus(operand));
    return found;
  }

 private:
  template <class F>
  void each(const std::vector<uint32_t>& outer, size_t depth, const F& call) const {
    if (depth == outer.size()) {
      call(*this);
      return;
    }
    Part part = *this;
    for (int64_t i = 0; i < size(outer[depth]); ++i) {
      part.each(outer, depth + 1, call);
      for (uint32_t operand = 0; operand < launch_->operands; ++operand) {
        part.base_[operand] += stride(operand, outer[depth]);
      }
    }
  }

  const cw_launch* launch_;
  std::vector<int64_t> base_;  // offset of each operand, in elements
  std::vector<uint32_t> axes_;
  std::vector<uint32_t> modulus_;  // one axis, or none
};

inline std::vector<uint32_t> first_axes(uint32_t count) {
  std::vector<uint32_t> axes(count);
  for (uint32_t axis = 0; axis < count; ++axis) axes[axis] = axis;
  return axes;
}

inline std::vector<Axis> joined(std::vector<Axis> axes, Axis last) {
  axes.push_back(last);
  return axes;
}

// ---- Rows ----

// Calls a function of a vendor by name, if it has one for these arguments.
#define CLOAKWORK_HEAL_CALL(function)                                     \
  struct Call_##function {                                                \
    template <class V, class... A>                                        \
    static auto call(A&&... values) -> decltype(V::function(values...)) { \
      return V::function(values...);                                      \
    }                                                                     \
  }

template <class V, class Function, class Arguments, class = void>
struct Takes : std::false_type {};
template <class V, class Function, class... A>
struct Takes<V, Function, std::tuple<A...>,
             std::void_t<decltype(Function::template call<V>(std::declval<A>()...))>>
    : std::true_type {};

// The kernel of an op over tensors of two types: its run, with exceptions as errors.
template <class Op>
void run(const cw_launch* launch, uint64_t, uint64_t, void*) {
  try {
    Op::run(launch);
  } catch (const std::exception& error) {
    cw_simple_fail("%s", error.what());
  } catch (...) {
    cw_simple_fail("an exception that is no std::exception");
  }
}

// The rows of a driver, and the texts that they point to.
struct RowList {
  std::vector<cw_kernel_row> rows;
  std::deque<std::string> texts;

  // A row of the op if the vendor has its function for these types.
  template <class Op>
  void add() {
    if constexpr (Op::is_there) {
      cw_kernel_row row = {};
      row.kernel = Op::kernel;
      row.symbol = texts.emplace_back(std::string(Op::kernel) + Op::suffix()).c_str();
      row.in_dtype = Op::in_dtype;
      row.out_dtype = Op::out_dtype;
      row.element_bytes = Op::element_bytes;
      row.run = run<Op>;
      rows.push_back(row);
    }
  }
};

}  // namespace heal
}  // namespace cloakwork

#include "cloakwork/heal_ops.hpp"

#endif  // CLOAKWORK_HEAL_DEVICE_HPP_
