// The folds of csrc/kernels/reduction/folds.h as threads share them.
//
// A *block* is kLanes * kSteps words of a reduction, of which lane l takes words l, l + kLanes, ...
// Blocks are joined in pairs, pairs of pairs and so on, then lanes by halves down to kEnd. These
// are the trees of the processor's folds where the order decides on bits; exact folds have any.
#ifndef CLOAKWORK_CUDA_KERNELS_REDUCTION_FOLDS_CUH_
#define CLOAKWORK_CUDA_KERNELS_REDUCTION_FOLDS_CUH_

#include "kernels/reduction/extreme_index.h"

namespace cw {
namespace {

// Along a reduction.
template <class Fold>
struct Shares;

template <class V, class In_, class Op>
struct Shares<LaneFold<V, In_, Op>> {
  using Fold = LaneFold<V, In_, Op>;
  using In = In_;
  using Out = In_;
  using State = typename Fold::T;  // of one lane
  static constexpr u64 kWords = Fold::kComponents;  // of an element
  static constexpr u64 kLanes = Fold::State::kCount, kSteps = kLaneSteps, kEnd = kWords;

  static CW_INLINE State Empty() { return Fold::kIdentity; }
  static CW_INLINE State Join(State a, State b) { return Op::Join(a, b); }
  static CW_INLINE State Load(const In* element, u64 word) {
    return reinterpret_cast<const State*>(element)[word % kWords];
  }
  static CW_INLINE bool IsSettled(State) { return false; }
  static CW_INLINE Out Finish(const State* lanes) {
    Out out;
    memcpy(&out, lanes, sizeof out);
    return out;
  }
};

template <class Op>
struct Shares<LoopFold<Op>> {
  using Fold = LoopFold<Op>;
  using In = typename Fold::In;
  using Out = typename Fold::Out;
  using State = typename Fold::State;
  static constexpr u64 kWords = 1, kLanes = 32, kSteps = 16, kEnd = 1;

  static CW_INLINE State Empty() { return Fold::Empty(); }
  static CW_INLINE State Join(State a, State b) { return Fold::Join(a, b); }
  static CW_INLINE State Load(const In* element, u64) { return Fold::Lift(*element); }
  static CW_INLINE bool IsSettled(State state) { return Fold::IsSettled(state); }
  static CW_INLINE Out Finish(const State* lanes) { return Fold::Finish(*lanes); }
};

// Products of complex numbers round: the processor's blocks are one thread's.
template <class In_>
struct Shares<LoopFold<ComplexProduct<In_>>> {
  using Fold = LoopFold<ComplexProduct<In_>>;
  using In = In_;
  using Out = In_;
  using State = In_;
  static constexpr u64 kWords = 1, kLanes = 1, kSteps = Fold::kElements, kEnd = 1;

  static CW_INLINE State Empty() { return Fold::Empty(); }
  static CW_INLINE State Join(State a, State b) { return Fold::Join(a, b); }
  static CW_INLINE State Load(const In* element, u64) { return *element; }
  static CW_INLINE bool IsSettled(State) { return false; }
  static CW_INLINE Out Finish(const State* lanes) { return *lanes; }
};

// The place of the first of the best elements.
template <class In_>
struct Found {
  In_ best;
  i64 place;  // -1: none
};
template <class In_, class Op>
struct IndexShares {
  using In = In_;
  using Out = i64;
  using State = Found<In>;
  static constexpr u64 kWords = 1, kLanes = 32, kSteps = 16, kEnd = 1;

  static CW_INLINE State Empty() { return {In(), -1}; }
  static CW_INLINE State Join(State a, State b) {
    if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
    if (Op::IsBetter(b.best, a.best)) return b;
    return b.place < a.place && !Op::IsBetter(a.best, b.best) ? b : a;
  }
  static CW_INLINE State Load(const In* element, u64 word) { return {*element, (i64)word}; }
  static CW_INLINE bool IsSettled(State) { return false; }
  static CW_INLINE Out Finish(const State* lanes) { return lanes->place; }
};

// Across reductions, whose results lie tight: a thread has blocks of kGroup elements.
template <class Fold>
struct ColumnShares {
  using In = typename Fold::In;
  using Out = typename Fold::Out;
  using State = typename Fold::Column;

  static CW_INLINE State Empty() { return Fold::EmptyColumn(); }
  static CW_INLINE State Join(State a, State b) { return Fold::JoinColumns(a, b); }
  static CW_INLINE State Load(const In* element, u64) { return Fold::Lift(*element); }
  static CW_INLINE Out Finish(const State* state) { return Fold::FinishColumn(*state); }
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_CUDA_KERNELS_REDUCTION_FOLDS_CUH_
