// From an operation on elements to a kernel over any strides.
//
// A row's entry function handles a launch of one element itself. All other launches go to Walk,
// which the rows of an instruction set share: it finds runs of neighbouring elements, or gathers
// elements into blocks, and calls the row's core for those.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_LOOPS_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_LOOPS_H_

#include "kernels/elementwise/stream.h"
#include "kernels/rows.h"

// The result of a loop may be one of its operands, element for element, but there is no other
// overlap: no iteration reads the result of another one.
#if defined(__clang__)
#define CW_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CW_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace cw {
namespace {

// Computes count neighbouring elements. Bit i of scalars: input i is one element, for all.
using Core = void (*)(void* out, const void* const* in, u64 count, u32 scalars);

struct Elementwise {
  Core core;
  u32 scalars;  // the inputs that are one element for the core, though never all inputs at once
  u32 out_bytes;
  u32 in_bytes[3];
};

template <class Op, class In, class Out>
void UnaryCore(void* out_, const void* const* in, u64 count, u32) {
  Out* out = static_cast<Out*>(out_);
  const In* a = static_cast<const In*>(in[0]);
  CW_INDEPENDENT
  for (u64 i = 0; i < count; ++i) out[i] = Op::Apply(a[i]);
}

// A commutative op needs no loop for a first operand that is one element.
template <class Op>
constexpr bool kCommutes = false;

template <class Op, class In, class Out>
__attribute__((noinline)) void BinaryCore(void* out_, const void* const* in, u64 count,
                                          u32 scalars) {
  Out* out = static_cast<Out*>(out_);
  const bool swap = kCommutes<Op> && scalars == 1;
  const In* a = static_cast<const In*>(in[swap ? 1 : 0]);
  const In* b = static_cast<const In*>(in[swap ? 0 : 1]);
  if (scalars == 0) {
    CW_INDEPENDENT
    for (u64 i = 0; i < count; ++i) out[i] = Op::Apply(a[i], b[i]);
  } else if (!kCommutes<Op> && scalars == 1) {
    const In x = *a;
    CW_INDEPENDENT
    for (u64 i = 0; i < count; ++i) out[i] = Op::Apply(x, b[i]);
  } else {
    const In y = *b;
    CW_INDEPENDENT
    for (u64 i = 0; i < count; ++i) out[i] = Op::Apply(a[i], y);
  }
}

// Op with its operands in the other order.
template <class Op, class In, class Out>
void SwappedCore(void* out, const void* const* in, u64 count, u32 scalars) {
  const void* const swapped[2] = {in[1], in[0]};
  BinaryCore<Op, In, Out>(out, swapped, count, scalars >> 1 | (scalars & 1) << 1);
}

template <class T>
inline void GatherElements(void* to, const void* from, const i64* offsets, i64 step, u64 count) {
  T* out = static_cast<T*>(to);
  const T* a = static_cast<const T*>(from);
  if (offsets != nullptr) {
    for (u64 i = 0; i < count; ++i) out[i] = a[offsets[i]];
  } else {
    for (u64 i = 0; i < count; ++i) out[i] = a[(i64)i * step];
  }
}

template <class T>
inline void ScatterElements(void* to, const void* from, const i64* offsets, i64 step, u64 count) {
  T* out = static_cast<T*>(to);
  const T* a = static_cast<const T*>(from);
  if (offsets != nullptr) {
    for (u64 i = 0; i < count; ++i) out[offsets[i]] = a[i];
  } else {
    for (u64 i = 0; i < count; ++i) out[(i64)i * step] = a[i];
  }
}

// to[i] = from[offsets[i]], or from[i * step] without offsets.
inline void Gather(u32 bytes, void* to, const void* from, const i64* offsets, i64 step,
                   u64 count) {
  switch (bytes) {
    case 1: return GatherElements<uint8_t>(to, from, offsets, step, count);
    case 2: return GatherElements<uint16_t>(to, from, offsets, step, count);
    case 4: return GatherElements<u32>(to, from, offsets, step, count);
    case 8: return GatherElements<u64>(to, from, offsets, step, count);
    default: return GatherElements<Complex128>(to, from, offsets, step, count);
  }
}

// to[offsets[i]] = from[i], or to[i * step] without offsets.
inline void Scatter(u32 bytes, void* to, const void* from, const i64* offsets, i64 step,
                    u64 count) {
  switch (bytes) {
    case 1: return ScatterElements<uint8_t>(to, from, offsets, step, count);
    case 2: return ScatterElements<uint16_t>(to, from, offsets, step, count);
    case 4: return ScatterElements<u32>(to, from, offsets, step, count);
    case 8: return ScatterElements<u64>(to, from, offsets, step, count);
    default: return ScatterElements<Complex128>(to, from, offsets, step, count);
  }
}

CW_INLINE const char* Move(const void* from, i64 elements, u32 bytes) {
  return static_cast<const char*>(from) + elements * (i64)bytes;
}

// A run of neighbouring results, whose inputs are neighbours or one element: no blocks.
template <int inputs>
inline bool RunFlat(const cw_launch& launch, u64 begin, u64 end, const Elementwise& row) {
  if (launch.rank != 1 || launch.strides[0] != 1) return false;
  u32 scalars = 0;
  for (int i = 0; i < inputs; ++i) {
    const i64 step = launch.strides[i + 1];
    if (step == 0) scalars |= 1u << i;
    if ((step | 1) != 1) return false;
  }
  if ((scalars & ~row.scalars) != 0 || scalars == (1u << inputs) - 1) return false;
  const void* in[inputs];
  for (int i = 0; i < inputs; ++i) {
    const i64 first = scalars >> i & 1 ? 0 : (i64)begin;
    in[i] = Move(launch.data[i + 1], first, row.in_bytes[i]);
  }
  char* out = static_cast<char*>(launch.data[0]) + begin * row.out_bytes;
  const u64 count = end - begin;
  const u64 head = launch.params[0] == 1 ? StreamHead(out, count, row.out_bytes) : count;
  row.core(out, in, head, scalars);
  for (u64 done = head; done < count;) {
    const u64 lines = (count - done) * row.out_bytes / kLineBytes;
    const u64 next = Min(lines * kLineBytes, kStreamBytes) / row.out_bytes;
    const void* at[inputs];
    for (int i = 0; i < inputs; ++i) {
      at[i] = scalars >> i & 1 ? in[i] : Move(in[i], (i64)done, row.in_bytes[i]);
    }
    char* to = out + done * row.out_bytes;
    if (next == 0) {
      row.core(to, at, count - done, scalars);
      break;
    }
    alignas(kLineBytes) char block[kStreamBytes];
    row.core(block, at, next, scalars);
    StreamLines(to, block, next * row.out_bytes);
    done += next;
  }
  if (head != count) StreamFence();
  return true;
}

template <int inputs>
struct Walker {
  const cw_launch& launch;
  const Elementwise& row;
  Rows<inputs + 1>& rows;
  alignas(kLineBytes) char in_block[inputs][kBlock * sizeof(Complex128)];
  alignas(kLineBytes) char out_block[kBlock * sizeof(Complex128)];

  Walker(const cw_launch& launch_, const Elementwise& row_, Rows<inputs + 1>& rows_)
      : launch(launch_), row(row_), rows(rows_) {}

  // Whether input i of the current row is one element.
  bool IsScalar(int i) const { return rows.stepped[i + 1] && rows.step[i + 1] == 0; }

  // The block's elements of input i, contiguous.
  const void* Fetch(int i, u64 position, u64 count) {
    const int operand = i + 1;
    const void* data = launch.data[operand];
    const u32 bytes = row.in_bytes[i];
    if (rows.stepped[operand]) {
      const i64 step = rows.step[operand];
      const void* first = Move(data, rows.offset[operand] + (i64)position * step, bytes);
      if (step == 1) return first;
      Gather(bytes, in_block[i], first, nullptr, step, count);
    } else {
      i64 offsets[kBlock];
      rows.ListOffsets(operand, position, count, offsets);
      Gather(bytes, in_block[i], data, offsets, 0, count);
    }
    return in_block[i];
  }

  void Flush(u64 position, u64 count) {
    char* out = static_cast<char*>(launch.data[0]);
    if (rows.stepped[0]) {
      const i64 first = rows.offset[0] + (i64)position * rows.step[0];
      char* to = out + first * (i64)row.out_bytes;
      return Scatter(row.out_bytes, to, out_block, nullptr, rows.step[0], count);
    }
    i64 offsets[kBlock];
    rows.ListOffsets(0, position, count, offsets);
    Scatter(row.out_bytes, out, out_block, offsets, 0, count);
  }

  void Block(u64 position, u64 count) {
    u32 scalars = 0;
    for (int i = 0; i < inputs; ++i) scalars |= (u32)IsScalar(i) << i;
    scalars &= row.scalars;
    if (scalars == (1u << inputs) - 1) scalars &= ~1u;
    const void* in[inputs];
    for (int i = 0; i < inputs; ++i) {
      in[i] = scalars >> i & 1 ? Move(launch.data[i + 1], rows.offset[i + 1], row.in_bytes[i])
                               : Fetch(i, position, count);
    }
    if (rows.stepped[0] && rows.step[0] == 1) {
      const i64 first = rows.offset[0] + (i64)position;
      row.core(static_cast<char*>(launch.data[0]) + first * row.out_bytes, in, count, scalars);
    } else {
      row.core(out_block, in, count, scalars);
      Flush(position, count);
    }
  }
};

template <int inputs>
__attribute__((noinline)) void Walk(const cw_launch& launch, u64 begin, u64 end,
                                    const Elementwise& row) {
  if (begin >= end || RunFlat<inputs>(launch, begin, end, row)) return;
  const i64* strides[inputs + 1];
  for (int i = 0; i <= inputs; ++i) strides[i] = Strides(launch, (u32)i);
  Rows<inputs + 1> rows(launch.rank, launch.dims, strides);
  Walker<inputs> walker(launch, row, rows);
  ForEachBlock(rows, begin, end,
               [&](u64 position, u64 count) { walker.Block(position, count); });
}

// Operands: out, a.
template <class Op, class In, class Out, Core core = UnaryCore<Op, In, Out>>
CW_INLINE void RunUnary(const cw_launch& launch, u64 begin, u64 end) {
  static constexpr Elementwise kRow = {core, 0, sizeof(Out), {sizeof(In), 0, 0}};
  if (begin == 0 && end == 1) {  // unit 0 has offset 0 for any rank
    *Data<Out>(launch, 0) = Op::Apply(*Data<const In>(launch, 1));
    return;
  }
  Walk<1>(launch, begin, end, kRow);
}

// Operands: out, a, b.
template <class Op, class In, class Out, Core core = BinaryCore<Op, In, Out>, u32 scalars = 3>
CW_INLINE void RunBinary(const cw_launch& launch, u64 begin, u64 end) {
  static constexpr Elementwise kRow = {core, scalars, sizeof(Out), {sizeof(In), sizeof(In), 0}};
  if (begin == 0 && end == 1) {
    *Data<Out>(launch, 0) = Op::Apply(*Data<const In>(launch, 1), *Data<const In>(launch, 2));
    return;
  }
  Walk<2>(launch, begin, end, kRow);
}

}  // namespace
}  // namespace cw

// The kernel Name: NameOp for each element, on elements viewed as Seen<In> and Seen<Out>.
#define CW_UNARY(Name, Seen)                                            \
  template <class V, class In, class Out>                               \
  void Name(const cw_launch& launch, u64 begin, u64 end, void*) {       \
    RunUnary<Name##Op, Seen<In>, Seen<Out>>(launch, begin, end);        \
  }
#define CW_BINARY(Name, Seen)                                           \
  template <class V, class In, class Out>                               \
  void Name(const cw_launch& launch, u64 begin, u64 end, void*) {       \
    RunBinary<Name##Op, Seen<In>, Seen<Out>>(launch, begin, end);       \
  }

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_LOOPS_H_
