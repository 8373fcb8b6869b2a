// poseidon: circomlib's hash of 1 to 16 elements of BN254's scalar field, many at once.
#ifndef CLOAKWORK_KERNELS_HASH_POSEIDON_H_
#define CLOAKWORK_KERNELS_HASH_POSEIDON_H_

#include "kernels/hash/poseidon_constants.h"
#include "kernels/hash/poseidon_lanes.h"
#include "kernels/rows.h"

namespace cw {
namespace {

// Adds constants to the first `added` elements and raises them to the fifth power, then multiplies
// by a dense matrix.
template <class Lanes>
CW_INLINE void DenseRound(u32 width, const typename Lanes::Constant* add, u32 added,
                          const typename Lanes::Constant* matrix, typename Lanes::Value* state) {
  typename Lanes::Value next[kPoseidonMaxWidth];
  for (u32 i = 0; i < added; ++i) state[i] = Lanes::Fifth(Lanes::Plus(state[i], add[i]));
  for (u32 i = 0; i < width; ++i) next[i] = Lanes::Dot(width, state, matrix + i * width);
  memcpy(state, next, width * sizeof next[0]);
}

// The permutation of Lanes::kLanes states of `width` elements.
template <class Lanes>
inline void Permute(const PoseidonLayout& layout, const typename Lanes::Constant* constants,
                    typename Lanes::Value* state) {
  const u32 width = layout.width;
  for (u32 round = 0; round < kPoseidonFullRounds / 2; ++round) {
    DenseRound<Lanes>(width, constants + layout.FirstHalf() + round * width, width,
                      constants + layout.Dense(), state);
  }
  for (u32 round = 0; round + 1 < layout.partial; ++round) {
    const auto* sparse = constants + layout.Sparse() + round * layout.SparseSize();
    state[0] = Lanes::Fifth(Lanes::Plus(state[0], constants[layout.Partial() + round]));
    const auto first = Lanes::Dot(width, state, sparse);
    for (u32 i = 1; i < width; ++i) {
      state[i] = Lanes::PlusProduct(state[i], state[0], sparse[width + i - 1]);
    }
    state[0] = first;
    if (round % Lanes::kRoundsBetween == Lanes::kRoundsBetween - 1) Lanes::Shrink(width, state);
  }
  Lanes::Shrink(width, state);
  DenseRound<Lanes>(width, constants + layout.Partial() + layout.partial - 1, 1,
                    constants + layout.LastPartial(), state);
  for (u32 round = 0; round < kPoseidonFullRounds / 2; ++round) {
    DenseRound<Lanes>(width, constants + layout.SecondHalf() + round * width, width,
                      constants + layout.Dense(), state);
  }
}

// Operands: out (stride 0 on n), a; dims: outer..., n: 1 to 16. Units: all but n. prepared: the
// constants of width n + 1.
template <class V, class In, class Out>
void Poseidon(const cw_launch& launch, u64 begin, u64 end, void*) {
  using Lanes = LanesOf<V>;
  const u32 outer = launch.rank - 1, count = (u32)Dim(launch, outer);
  const PoseidonLayout layout(count + 1);
  const auto* constants = static_cast<const typename Lanes::Constant*>(launch.prepared);
  const i64 step = Strides(launch, 1)[outer];
  for (u64 unit = begin; unit < end; unit += Lanes::kLanes) {
    const u64 taken = Min(Lanes::kLanes, end - unit);
    const Bn254Fr* from[Lanes::kLanes];
    Bn254Fr* to[Lanes::kLanes];
    for (u64 i = 0; i < Lanes::kLanes; ++i) {
      const u64 place = unit + Min(i, taken - 1);
      from[i] = Data<const Bn254Fr>(launch, 1) +
                OffsetAt(place, outer, launch.dims, Strides(launch, 1));
      to[i] = Data<Bn254Fr>(launch, 0) + OffsetAt(place, outer, launch.dims, Strides(launch, 0));
    }
    typename Lanes::Value state[kPoseidonMaxWidth];
    state[0] = Lanes::Nothing();
    for (u32 i = 0; i < count; ++i) state[1 + i] = Lanes::Load(from, (i64)i * step);
    Permute<Lanes>(layout, constants, state);
    Lanes::Store(state[0], to);
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_HASH_POSEIDON_H_
