// ntt and intt: Harvey's lazy butterflies on words (csrc/kernels/ntt/harvey.h) with the processor's
// tables. plans/ntt.h says how a transform is cut into grids.
#define CW_CUDA_MANY
#include "cuda/kernels/kernel.h"
#include "kernels/ntt/derived.h"
#include "kernels/ntt/harvey.h"
#include "kernels/ntt/prepare.cc"

namespace cw {
namespace {

using Arithmetic = Harvey<ShoupProduct<U64x1>>;
using Twiddle = Arithmetic::Twiddle;

// A point's place in shared memory: PartWords of plans/ntt.h.
CW_INLINE u32 Slot(u32 point) { return point + (point >> 4); }

// One row of a launch. Operands: out, a, q, psi, perm, n_inv; axes: l, r, k, m.
template <class In, class Out>
struct RowOf {
  const NttLimb& limb;
  Twiddles table;
  u64 size;
  const In* a;
  Out* out;
  i64 a_step, out_step;
  const i64* perm;
  i64 perm_step;
  i64 scale;
  u64* spare;  // words between passes, where `out` cannot hold them

  CW_INLINE RowOf(const cw_launch& launch, u64 unit, unsigned char* memory)
      : limb(LimbOf(launch, unit % Dim(launch, 2))), size(Dim(launch, 3)) {
    const u64 k = unit % Dim(launch, 2), outer = unit / Dim(launch, 2);
    const u64 r = outer % Dim(launch, 1), l = outer / Dim(launch, 1);
    const i64 *out_at = Strides(launch, 0), *a_at = Strides(launch, 1);
    table = TableOf(limb, size);
    a = Data<const In>(launch, 1) + (i64)l * a_at[0] + (i64)r * a_at[1] + (i64)k * a_at[2];
    out = Data<Out>(launch, 0) + (i64)l * out_at[0] + (i64)r * out_at[1] + (i64)k * out_at[2];
    a_step = a_at[3];
    out_step = out_at[3];
    perm = limb.order == RowOrder::kOfTransform ? nullptr : Data<const i64>(launch, 4);
    perm_step = Strides(launch, 4)[3];
    scale = 0;
    if (launch.operands > 5) {
      scale = (i64)Data<const Out>(launch, 5)[(i64)k * Strides(launch, 5)[2]];
    }
    const bool held = sizeof(Out) == sizeof(u64) && perm == nullptr;
    spare = held ? nullptr : reinterpret_cast<u64*>(memory) + unit * size;
  }

  CW_INLINE u64 Image(u64 place) const { return (u64)perm[(i64)place * perm_step]; }
  CW_INLINE u64 Operand(u64 place) const {
    return CanonicalWord((i64)a[(i64)place * a_step], limb.q);
  }
  CW_INLINE void Result(u64 place, u64 word) const { out[(i64)place * out_step] = (Out)word; }
  CW_INLINE u64 Kept(u64 place) const {
    return spare != nullptr ? spare[place] : (u64)(i64)out[(i64)place * out_step];
  }
  CW_INLINE void Keep(u64 place, u64 word) const {
    if (spare != nullptr) {
      spare[place] = word;
    } else {
      Result(place, word);
    }
  }
};

// `count` stages from the one whose blocks begin at tree node `node`, on the 2^count numbers of x:
// x[i] is at distance i of the smallest of these stages. `stage` is the next one.
template <int count, int stage = 0>
CW_INLINE void ForwardStages(const Arithmetic& a, U64x1 (&x)[1 << count], u64 node,
                             const Twiddles& table) {
  constexpr int half = 1 << (count - 1 - stage);
#pragma unroll
  for (int i = 0; i < 1 << (count - 1); ++i) {
    const int block = i / half, low = 2 * half * block + i % half;
    a.Forward<0>(x[low], x[low + half], Twiddle::Set(table, (node << stage) + (u64)block));
  }
  if constexpr (stage + 1 < count) ForwardStages<count, stage + 1>(a, x, node, table);
}

template <int count, int stage = count - 1>
CW_INLINE void InverseStages(const Arithmetic& a, U64x1 (&x)[1 << count], u64 node,
                             const Twiddles& table) {
  constexpr int half = 1 << (count - 1 - stage);
#pragma unroll
  for (int i = 0; i < 1 << (count - 1); ++i) {
    const int block = i / half, low = 2 * half * block + i % half;
    a.Inverse<2, true>(x[low], x[low + half], Twiddle::Set(table, (node << stage) + (u64)block));
  }
  if constexpr (stage > 0) InverseStages<count, stage - 1>(a, x, node, table);
}

// `count` stages of a part of 2^bits points in shared memory, from its stage `done`. The part is
// node `root` of the whole row.
template <int count, bool inverse>
CW_INLINE void PartStages(const Arithmetic& a, u64* part, u32 bits, u32 done, u64 root,
                          const Twiddles& table) {
  const u32 step_bits = bits - done - count;  // of the distance of the numbers
  for (u32 item = threadIdx.x; item < 1u << (bits - count); item += blockDim.x) {
    const u32 block = item >> step_bits, inner = item & ((1u << step_bits) - 1);
    const u32 first = (block << (bits - done)) + inner;
    U64x1 x[1 << count];
#pragma unroll
    for (u32 i = 0; i < 1u << count; ++i) x[i].v = part[Slot(first + (i << step_bits))];
    const u64 node = (root << done) + block;
    if constexpr (inverse) {
      InverseStages<count>(a, x, node, table);
    } else {
      ForwardStages<count>(a, x, node, table);
    }
#pragma unroll
    for (u32 i = 0; i < 1u << count; ++i) part[Slot(first + (i << step_bits))] = x[i].v;
  }
  __syncthreads();
}

// All stages of a part: three at a time, the one or two that are left over at the first stage.
template <bool inverse>
CW_INLINE void TransformPart(const Arithmetic& a, u64* part, u32 bits, u64 root,
                             const Twiddles& table) {
  const u32 rest = bits % 3;
  if (!inverse && rest == 1) PartStages<1, inverse>(a, part, bits, 0, root, table);
  if (!inverse && rest == 2) PartStages<2, inverse>(a, part, bits, 0, root, table);
  for (u32 at = 0; at < bits / 3; ++at) {
    const u32 done = inverse ? bits - 3 * (at + 1) : rest + 3 * at;
    PartStages<3, inverse>(a, part, bits, done, root, table);
  }
  if (inverse && rest == 1) PartStages<1, inverse>(a, part, bits, 0, root, table);
  if (inverse && rest == 2) PartStages<2, inverse>(a, part, bits, 0, root, table);
}

CW_INLINE u32 BitsOf(u64 size) { return 63u - (u32)__builtin_clzll(size); }

template <class In, class Out>
CW_INLINE void ForwardPart(const cw_launch& launch, u64 stages, u64* part, unsigned char* memory,
                           const Grid& grid) {
  const u64 index = grid.x & ((1u << stages) - 1);
  const RowOf<In, Out> row(launch, grid.x >> stages, memory);
  const u64 points = row.size >> stages, first = index * points;
  const Arithmetic a(row.limb.q);
  for (u64 i = threadIdx.x; i < points; i += blockDim.x) {
    part[Slot((u32)i)] = stages == 0 ? row.Operand(i) : row.Kept(first + i);
  }
  __syncthreads();
  TransformPart<false>(a, part, BitsOf(points), ((u64)1 << stages) + index, row.table);
  for (u64 i = threadIdx.x; i < points; i += blockDim.x) {
    const bool permuted = stages == 0 && row.perm != nullptr;
    const u64 word = a.Word({part[Slot((u32)(permuted ? row.Image(i) : i))]}).v;
    if (stages != 0 && row.perm != nullptr) {
      row.Keep(first + i, word);
    } else {
      row.Result(first + i, word);
    }
  }
}

// The last factor of an inverse transform, on numbers in [0, 2q).
struct Scaling {
  Arithmetic a;
  Twiddle scale;

  CW_INLINE Scaling(const Arithmetic& a_, const NttLimb& limb, i64 scale_)
      : a(a_), scale(Twiddle::Set(limb.Words(CanonicalWord(scale_, limb.q)))) {}
  CW_INLINE u64 operator()(U64x1 x) const {
    return SubIfAtLeast(a.product(x, scale), a.q).v;
  }
};

template <class In, class Out>
CW_INLINE void InversePart(const cw_launch& launch, u64 stages, u64* part, unsigned char* memory,
                           const Grid& grid) {
  const u64 index = grid.x & ((1u << stages) - 1);
  const RowOf<In, Out> row(launch, grid.x >> stages, memory);
  const u64 points = row.size >> stages, first = index * points;
  const Arithmetic a(row.limb.q);
  const Scaling scaled(a, row.limb, row.scale);
  for (u64 i = threadIdx.x; i < points; i += blockDim.x) {
    const u64 place = row.perm != nullptr ? row.Image(first + i) : first + i;
    part[Slot((u32)i)] = row.Operand(place);
  }
  __syncthreads();
  TransformPart<true>(a, part, BitsOf(points), ((u64)1 << stages) + index, row.table);
  for (u64 i = threadIdx.x; i < points; i += blockDim.x) {
    const u64 word = part[Slot((u32)i)];
    if (stages == 0) {
      row.Result(i, scaled({word}));
    } else {
      row.Keep(first + i, word);
    }
  }
}

// Stages `stage` .. stage + count of one column, in registers. item counts the columns of all rows.
template <int count, bool inverse, class In, class Out>
CW_INLINE void Column(const cw_launch& launch, u64 item, u64 stage, unsigned char* memory) {
  const u64 columns = Dim(launch, 3) >> count;
  const RowOf<In, Out> row(launch, item / columns, memory);
  const u64 column = item % columns;
  const u64 step = row.size >> (stage + count);
  const u64 block = column / step, first = block * (row.size >> stage) + column % step;
  const Arithmetic a(row.limb.q);
  U64x1 x[1 << count];
#pragma unroll
  for (u64 i = 0; i < 1u << count; ++i) {
    const u64 place = first + i * step;
    x[i].v = !inverse && stage == 0 ? row.Operand(place) : row.Kept(place);
  }
  const u64 node = ((u64)1 << stage) + block;
  if constexpr (inverse) {
    InverseStages<count>(a, x, node, row.table);
    const Scaling scaled(a, row.limb, row.scale);
#pragma unroll
    for (u64 i = 0; i < 1u << count; ++i) {
      const u64 place = first + i * step;
      if (stage == 0) {
        row.Result(place, scaled(x[i]));
      } else {
        row.Keep(place, x[i].v);
      }
    }
  } else {
    ForwardStages<count>(a, x, node, row.table);
#pragma unroll
    for (u64 i = 0; i < 1u << count; ++i) row.Keep(first + i * step, x[i].v);
  }
}

template <bool inverse, class In, class Out>
CW_INLINE void Columns(const cw_launch& launch, u64 units, u64 argument, unsigned char* memory,
                       const Grid& grid) {
  const u64 stage = argument % 64, count = argument / 64, item = ThreadIndex(grid);
  if (item >= units * Dim(launch, 3) >> count) return;
  switch (count) {
    case 1: return Column<1, inverse, In, Out>(launch, item, stage, memory);
    case 2: return Column<2, inverse, In, Out>(launch, item, stage, memory);
    case 3: return Column<3, inverse, In, Out>(launch, item, stage, memory);
    default: return Column<4, inverse, In, Out>(launch, item, stage, memory);
  }
}

// The order of the result, after the parts of a long row.
template <class In, class Out>
CW_INLINE void Reorder(const cw_launch& launch, u64 units, unsigned char* memory,
                       const Grid& grid) {
  const u64 size = Dim(launch, 3);
  for (u64 item = ThreadIndex(grid); item < units * size; item += ThreadCount(grid)) {
    const RowOf<In, Out> row(launch, item / size, memory);
    if (row.perm != nullptr) row.Result(item % size, row.Kept(row.Image(item % size)));
  }
}

// The constants of a limb, by one block: the twiddles of prepare.cc in the form of words.
template <class T>
CW_INLINE void MakeLimb(const cw_launch& launch, unsigned char* memory) {
  NttLimb& block = *reinterpret_cast<NttLimb*>(memory);
  const u64 size = Dim(launch, 3), q = AnyModulus((i64)WordAt<T>(launch, 2, 0));
  const u64 bits = BitsOf(size);
  int identity = 1, reversal = 1;
  for (u64 i = threadIdx.x; launch.data[4] != nullptr && i < size; i += blockDim.x) {
    const u64 place = WordAt<i64>(launch, 4, i);
    u64 reversed = 0;
    for (u64 bit = 0; bit < bits; ++bit) reversed |= (i >> bit & 1) << (bits - 1 - bit);
    identity &= place == i;
    reversal &= place == reversed;
  }
  identity = __syncthreads_and(identity);
  reversal = __syncthreads_and(reversal);
  const NttLimb head(q, TwiddleForm::kWord64,
                     identity != 0   ? RowOrder::kOfTransform
                     : reversal != 0 ? RowOrder::kBitReversed
                                     : RowOrder::kPermuted);
  if (threadIdx.x == 0) block = head;
  u64* values = reinterpret_cast<u64*>(&block + 1);
  for (u64 i = threadIdx.x; i < size; i += blockDim.x) {
    const TwiddleWords words = head.Words(CanonicalWord((i64)WordAt<T>(launch, 3, i), q));
    values[i] = words.value;
    values[size + i] = words.companion;
  }
}

}  // namespace
}  // namespace cw

#define CW_NTT(name, Part, inverse, In, Out)                       \
  CW_CUDA_FUNCTION(cw_##name##_cuda) {                             \
    CW_CUDA_SHARED(shared);                                        \
    using namespace cw;                                            \
    Part<In, Out>(own, argument, shared, memory, grid);            \
  }                                                                \
  CW_CUDA_FUNCTION(cw_##name##_columns_cuda) {                     \
    using namespace cw;                                            \
    Columns<inverse, In, Out>(own, units, argument, memory, grid); \
  }
#define CW_NTT_REORDER(name, In, Out)           \
  CW_CUDA_FUNCTION(cw_##name##_reorder_cuda) {  \
    using namespace cw;                         \
    Reorder<In, Out>(own, units, memory, grid); \
  }
CW_NTT(ntt_i8_i32, ForwardPart, false, int8_t, int32_t)
CW_NTT(ntt_i8_i64, ForwardPart, false, int8_t, int64_t)
CW_NTT(ntt_i32, ForwardPart, false, int32_t, int32_t)
CW_NTT(ntt_i64, ForwardPart, false, int64_t, int64_t)
CW_NTT(intt_i32, InversePart, true, int32_t, int32_t)
CW_NTT(intt_i64, InversePart, true, int64_t, int64_t)
CW_NTT_REORDER(ntt_i8_i32, int8_t, int32_t)
CW_NTT_REORDER(ntt_i8_i64, int8_t, int64_t)
CW_NTT_REORDER(ntt_i32, int32_t, int32_t)
CW_NTT_REORDER(ntt_i64, int64_t, int64_t)

#define CW_NTT_LIMB(suffix, T)             \
  CW_CUDA_ALONE(cw_prepare_kNtt##suffix) { \
    using namespace cw;                    \
    MakeLimb<T>(own, memory);              \
  }
CW_NTT_LIMB(I32, int32_t)
CW_NTT_LIMB(I64, int64_t)
