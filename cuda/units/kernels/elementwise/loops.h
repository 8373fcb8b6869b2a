// In place of csrc/kernels/elementwise/loops.h for a thread of a GPU: single elements of a space.
//
// In place of a range of units, functions get the number of all units and whether the grid is by
// rows (cuda/kernels/spaces.cuh).
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_LOOPS_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_LOOPS_H_

#include "cuda/kernels/spaces.cuh"

#define CW_INDEPENDENT

namespace cw {
namespace {

// As on the processor; a core gets one element, and no input is one element for all.
using Core = void (*)(void* out, const void* const* in, u64 count, u32 scalars);

struct Elementwise {
  Core core;
  u32 scalars;
  u32 out_bytes;
  u32 in_bytes[3];
};

template <class Op>
constexpr bool kCommutes = false;

// Op with its operands in the other order.
template <class Op, class In, class Out>
CW_INLINE void SwappedCore(void* out, const void* const* in, u64, u32) {
  *static_cast<Out*>(out) =
      Op::Apply(*static_cast<const In*>(in[1]), *static_cast<const In*>(in[0]));
}

// Calls body(out, in) for each unit, with the addresses of its elements.
template <int inputs, class Body>
CW_INLINE void ForEachElement(const cw_launch& launch, u64 units, u64 by_rows,
                              const Elementwise& row, Body&& body) {
  const i64* strides[inputs + 1];
  for (int i = 0; i <= inputs; ++i) strides[i] = Strides(launch, (u32)i);
  const Grid grid = Grid::Own();
  ForEachPlace(grid, launch.rank, launch.dims, strides, units, by_rows != 0, [&](const i64* at) {
    const void* in[inputs];
    for (int i = 0; i < inputs; ++i) {
      in[i] = Data<const char>(launch, (u32)i + 1) + at[i + 1] * (i64)row.in_bytes[i];
    }
    body(Data<char>(launch, 0) + at[0] * (i64)row.out_bytes, in);
  });
}

template <int inputs>
CW_INLINE void Walk(const cw_launch& launch, u64 units, u64 by_rows, const Elementwise& row) {
  ForEachElement<inputs>(launch, units, by_rows, row, [&](void* out, const void* const* in) {
    row.core(out, in, 1, 0);
  });
}

// Operands: out, a. A core of null applies Op.
template <class Op, class In, class Out, Core core = nullptr>
CW_INLINE void RunUnary(const cw_launch& launch, u64 units, u64 by_rows) {
  constexpr Elementwise kRow = {nullptr, 0, sizeof(Out), {sizeof(In), 0, 0}};
  ForEachElement<1>(launch, units, by_rows, kRow, [](void* out, const void* const* in) {
    if constexpr (core == nullptr) {
      *static_cast<Out*>(out) = Op::Apply(*static_cast<const In*>(in[0]));
    } else {
      core(out, in, 1, 0);
    }
  });
}

// Operands: out, a, b.
template <class Op, class In, class Out, Core core = nullptr, u32 scalars = 3>
CW_INLINE void RunBinary(const cw_launch& launch, u64 units, u64 by_rows) {
  constexpr Elementwise kRow = {nullptr, scalars, sizeof(Out), {sizeof(In), sizeof(In), 0}};
  ForEachElement<2>(launch, units, by_rows, kRow, [](void* out, const void* const* in) {
    if constexpr (core == nullptr) {
      *static_cast<Out*>(out) =
          Op::Apply(*static_cast<const In*>(in[0]), *static_cast<const In*>(in[1]));
    } else {
      core(out, in, 1, 0);
    }
  });
}

}  // namespace
}  // namespace cw

// The kernel Name: NameOp for each element, on elements viewed as Seen<In> and Seen<Out>.
#define CW_UNARY(Name, Seen)                                          \
  template <class V, class In, class Out>                             \
  void Name(const cw_launch& launch, u64 units, u64 by_rows, void*) { \
    RunUnary<Name##Op, Seen<In>, Seen<Out>>(launch, units, by_rows);  \
  }
#define CW_BINARY(Name, Seen)                                         \
  template <class V, class In, class Out>                             \
  void Name(const cw_launch& launch, u64 units, u64 by_rows, void*) { \
    RunBinary<Name##Op, Seen<In>, Seen<Out>>(launch, units, by_rows); \
  }

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_LOOPS_H_
