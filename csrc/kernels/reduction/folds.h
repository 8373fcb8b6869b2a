// The reduction of a block of elements to one value: the lowest levels of a reduction's tree.
//
// A fold has two interfaces. Along a reduction, Block computes a State from some elements, Join
// combines two states and Finish returns the result. Across many reductions, Lift makes a Column of
// one element, and so on.
#ifndef CLOAKWORK_KERNELS_REDUCTION_FOLDS_H_
#define CLOAKWORK_KERNELS_REDUCTION_FOLDS_H_

#include "kernels/reduction/ops.h"

namespace cw {
namespace {

// Partial results of a block: as many on every instruction set, so that bits do not depend on it.
constexpr u64 kLaneBytes = 128;
// Steps that every lane of a block makes one after another.
constexpr u64 kLaneSteps = 16;

template <class V, class T>
struct Lanes {
  static constexpr u64 kBytes = V::kLanes == 1 ? 16 : 8 * V::kLanes;
  static constexpr u64 kParts = kLaneBytes / kBytes;
  static constexpr u64 kInPart = kBytes / sizeof(T);
  static constexpr u64 kCount = kLaneBytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(kBytes)));
  Vector part[kParts];
};

// Copies count elements, fewer than size, a power of two: in parts of known lengths, because a copy
// of any length costs more than the rest of a short reduction.
template <u64 size, class T>
CW_INLINE void CopyFewer(T* to, const T* from, u64 count) {
  constexpr u64 kHalf = size / 2;
  const u64 own = count & kHalf;
  if (own != 0) memcpy(to, from, kHalf * sizeof(T));
  if constexpr (kHalf > 1) CopyFewer<kHalf>(to + own, from + own, count - own);
}

// Elements whose result has their own type, joined by vector instructions. Lane l of a block holds
// elements l, l + kCount, ...; an incomplete last step is padded with the identity. At the end lane
// l is joined with lane l + kCount / 2, and so on by halves.
template <class V, class In_, class Op>
struct LaneFold {
  using In = In_;
  using Out = In;
  using T = typename ComponentOf<In>::Type;
  using State = Lanes<V, T>;
  static constexpr u64 kComponents = ComponentOf<In>::kCount;
  static constexpr u64 kElements = State::kCount * kLaneSteps / kComponents;
  static constexpr T kIdentity = Op::template kIdentity<T>;

  static CW_INLINE State Empty() {
    State state;
    for (u64 i = 0; i < State::kParts; ++i) state.part[i] = kIdentity - typename State::Vector{};
    return state;
  }

  static CW_INLINE void Step(State& state, const T* a) {
    static_assert(sizeof(typename State::Vector) == State::kBytes, "the compiler has vectors");
#pragma GCC unroll 8
    for (u64 i = 0; i < State::kParts; ++i) {
      typename State::Vector own;
      memcpy(&own, a + i * State::kInPart, sizeof own);
      state.part[i] = Op::Join(state.part[i], own);
    }
  }

  // The steps of whole vectors. Of extremes the last NaN of a lane is kept beside its best number:
  // two short chains instead of a long one.
  static CW_INLINE void Steps(State& state, const T* a, u64 steps) {
    if constexpr (Op::kPicks) {
      State other = Empty();
      for (; steps != 0; --steps, a += State::kCount) {
#pragma GCC unroll 8
        for (u64 i = 0; i < State::kParts; ++i) {
          typename State::Vector own;
          memcpy(&own, a + i * State::kInPart, sizeof own);
          state.part[i] = Op::Pick(state.part[i], own);
          other.part[i] = own != own ? own : other.part[i];
        }
      }
      for (u64 i = 0; i < State::kParts; ++i) {
        state.part[i] = other.part[i] != other.part[i] ? other.part[i] : state.part[i];
      }
    } else {
      for (; steps != 0; --steps, a += State::kCount) Step(state, a);
    }
  }

  static CW_INLINE State Block(const In* elements, u64 count) {
    const T* a = reinterpret_cast<const T*>(elements);
    const u64 left = count * kComponents % State::kCount;
    State state = Empty();
    Steps(state, a, count * kComponents / State::kCount);
    a += count * kComponents - left;
    if (left != 0) {
      T last[State::kCount];
      for (u64 i = 0; i < State::kCount; ++i) last[i] = kIdentity;
      CopyFewer<State::kCount>(last, a, left);
      Step(state, last);
    }
    return state;
  }

  static CW_INLINE State Join(const State& a, const State& b) {
    State state;
    for (u64 i = 0; i < State::kParts; ++i) state.part[i] = Op::Join(a.part[i], b.part[i]);
    return state;
  }

  static CW_INLINE Out Finish(State state) {
#pragma GCC unroll 4
    for (u64 width = State::kParts / 2; width != 0; width /= 2) {
#pragma GCC unroll 4
      for (u64 i = 0; i < width; ++i) {
        state.part[i] = Op::Join(state.part[i], state.part[i + width]);
      }
    }
    T lane[State::kInPart];
    memcpy(lane, &state.part[0], sizeof lane);
#pragma GCC unroll 6
    for (u64 width = State::kInPart / 2; width >= kComponents; width /= 2) {
#pragma GCC unroll 32
      for (u64 i = 0; i < width; ++i) lane[i] = Op::Join(lane[i], lane[i + width]);
    }
    Out out;
    memcpy(&out, lane, sizeof out);
    return out;
  }
  static CW_INLINE bool IsSettled(const State&) { return false; }

  using Column = In;
  static CW_INLINE Column EmptyColumn() {
    Column column;
    T identity[kComponents];
    for (u64 i = 0; i < kComponents; ++i) identity[i] = kIdentity;
    memcpy(&column, identity, sizeof column);
    return column;
  }
  static CW_INLINE Column Lift(In x) { return x; }
  static CW_INLINE Column JoinColumns(Column a, Column b) { return Op::Join(a, b); }
  static CW_INLINE Out FinishColumn(Column column) { return column; }
};

// Elements joined one after another by a loop, which the compiler may reorder if the op is exact.
// Op has the types In, Partial (of a block), Total and Out, and the conversions between them.
template <class Op>
struct LoopFold {
  using In = typename Op::In;
  using Out = typename Op::Out;
  using State = typename Op::Total;
  static constexpr u64 kElements = 4096 / sizeof(In);

  static CW_INLINE State Empty() { return Op::Empty(); }
  static CW_INLINE State Block(const In* a, u64 count) {
    typename Op::Partial partial = Op::kStart;
    for (u64 i = 0; i < count; ++i) partial = Op::Step(partial, a[i]);
    return Op::FromPartial(partial);
  }
  static CW_INLINE State Join(State a, State b) { return Op::Join(a, b); }
  static CW_INLINE Out Finish(State state) { return Op::Finish(state); }
  static CW_INLINE bool IsSettled(State state) { return Op::IsSettled(state); }

  using Column = State;
  static CW_INLINE Column EmptyColumn() { return Op::Empty(); }
  static CW_INLINE Column Lift(In x) { return Op::FromPartial(Op::Step(Op::kStart, x)); }
  static CW_INLINE Column JoinColumns(Column a, Column b) { return Op::Join(a, b); }
  static CW_INLINE Out FinishColumn(Column column) { return Op::Finish(column); }
};

// Integers; those of one or two bytes are added up in four.
template <class In_>
struct IntegerSum {
  using In = In_;
  using Narrow = typename Choose<(In(-1) < In(0)), int32_t, u32>::Type;
  using Partial = typename Choose<(sizeof(In) <= 2), Narrow, u64>::Type;
  using Total = u64;
  using Out = u64;
  static constexpr Partial kStart = 0;
  static CW_INLINE Total Empty() { return 0; }
  static CW_INLINE Partial Step(Partial a, In x) { return a + (Partial)Widen(x); }
  static CW_INLINE Total FromPartial(Partial a) { return Widen(a); }
  static CW_INLINE Total Join(Total a, Total b) { return a + b; }
  static CW_INLINE Out Finish(Total a) { return a; }
  static CW_INLINE bool IsSettled(Total) { return false; }
};

template <class In_>
struct IntegerProduct {
  using In = In_;
  using Partial = u64;
  using Total = u64;
  using Out = u64;
  static constexpr Partial kStart = 1;
  static CW_INLINE Total Empty() { return 1; }
  static CW_INLINE Partial Step(Partial a, In x) { return a * Widen(x); }
  static CW_INLINE Total FromPartial(Partial a) { return a; }
  static CW_INLINE Total Join(Total a, Total b) { return a * b; }
  static CW_INLINE Out Finish(Total a) { return a; }
  static CW_INLINE bool IsSettled(Total) { return false; }
};

// The order within a block is that of the elements.
template <class In_>
struct ComplexProduct {
  using In = In_;
  using Partial = In;
  using Total = In;
  using Out = In;
  static constexpr Partial kStart = {1, 0};
  static CW_INLINE Total Empty() { return kStart; }
  static CW_INLINE Partial Step(Partial a, In x) { return MultiplyOp::Join(a, x); }
  static CW_INLINE Total FromPartial(Partial a) { return a; }
  static CW_INLINE Total Join(Total a, Total b) { return MultiplyOp::Join(a, b); }
  static CW_INLINE Out Finish(Total a) { return a; }
  static CW_INLINE bool IsSettled(Total) { return false; }
};

template <class In_, class Op>
struct IntegerExtreme {
  using In = In_;
  using Partial = In;
  using Total = In;
  using Out = In;
  static constexpr Partial kStart = Op::template kIdentity<In>;
  static CW_INLINE Total Empty() { return kStart; }
  static CW_INLINE Partial Step(Partial a, In x) { return Op::Join(a, x); }
  static CW_INLINE Total FromPartial(Partial a) { return a; }
  static CW_INLINE Total Join(Total a, Total b) { return Op::Join(a, b); }
  static CW_INLINE Out Finish(Total a) { return a; }
  static CW_INLINE bool IsSettled(Total) { return false; }
};

// Whether one element is `sought`; the result is `sought` then, else the opposite.
template <class In_, bool sought>
struct Search {
  using In = In_;
  using Partial = uint8_t;
  using Total = uint8_t;
  using Out = uint8_t;
  static constexpr Partial kStart = 0;
  static CW_INLINE Total Empty() { return 0; }
  static CW_INLINE Partial Step(Partial a, In x) { return a | (IsTrue(x) == sought ? 1 : 0); }
  static CW_INLINE Total FromPartial(Partial a) { return a; }
  static CW_INLINE Total Join(Total a, Total b) { return a | b; }
  static CW_INLINE Out Finish(Total a) { return sought ? a : 1 - a; }
  static CW_INLINE bool IsSettled(Total a) { return a != 0; }
};

template <class In_>
struct CountTrue {
  using In = In_;
  using Partial = u32;
  using Total = u64;
  using Out = u64;
  static constexpr Partial kStart = 0;
  static CW_INLINE Total Empty() { return 0; }
  static CW_INLINE Partial Step(Partial a, In x) { return a + (IsTrue(x) ? 1 : 0); }
  static CW_INLINE Total FromPartial(Partial a) { return a; }
  static CW_INLINE Total Join(Total a, Total b) { return a + b; }
  static CW_INLINE Out Finish(Total a) { return a; }
  static CW_INLINE bool IsSettled(Total) { return false; }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_REDUCTION_FOLDS_H_
