// Residues: modmul, modmuladd, modsum, mod, modneg, axis_modsum, modmul_axis_sum. The arithmetic is
// the processor's (csrc/kernels/modular/ops.h); threads lie along the tightest axis.
#define CW_CUDA_MANY
#include "cuda/kernels/spaces.cuh"
#include "kernels/modular/axis_sum_plan.h"
#include "kernels/modular/derived.h"
#include "kernels/modular/ops.h"

namespace cw {
namespace {

// out = Op(inputs) modulo the last operand.
template <class Op, class T>
CW_INLINE void Modular(const cw_launch& launch, u64 units, bool by_rows, const Grid& grid) {
  constexpr int kOperands = Op::kInputs + 2;
  i64 list_strides[kMaxRank];
  ModulusStrides(launch, kOperands - 1, list_strides);
  const i64* strides[kOperands];
  for (int i = 0; i < kOperands - 1; ++i) strides[i] = Strides(launch, (u32)i);
  strides[kOperands - 1] = list_strides;
  const auto* list = static_cast<const Modulus*>(launch.prepared);
  ForEachPlace(grid, launch.rank, launch.dims, strides, units, by_rows, [&](const i64* at) {
    const Modulus& modulus = list[at[kOperands - 1]];
    const auto m = LaneModulus<U64x1>::Set(modulus);
    T words[Op::kInputs];
    U64x1 x[Op::kInputs];
    for (int i = 0; i < Op::kInputs; ++i) {
      words[i] = Data<const T>(launch, (u32)i + 1)[at[i + 1]];
      x[i] = U64x1::Load(&words[i]);
    }
    T* out = Data<T>(launch, 0) + at[0];
    if (Op::Outside(Op::Seen(U64x1::Set(0), x, m), m)) {
      *out = Op::Exact(words, (T)modulus.q);
    } else {
      Op::Fast(x, m).Store(out);
    }
  });
}

// out[...] = t after t = (t + a[..., s]) % q for each s.
template <class T>
CW_INLINE void SumAxis(const cw_launch& launch, u64 units, bool by_rows, const Grid& grid) {
  i64 list_strides[kMaxRank];
  ModulusStrides(launch, 2, list_strides);
  const i64* strides[3] = {Strides(launch, 0), Strides(launch, 1), list_strides};
  const u32 last = launch.rank - 1;
  const u64 terms = Dim(launch, last);
  const i64 step = Strides(launch, 1)[last];
  const auto* list = static_cast<const Modulus*>(launch.prepared);
  ForEachPlace(grid, last, launch.dims, strides, units, by_rows, [&](const i64* at) {
    const Modulus& modulus = list[at[2]];
    const auto m = LaneModulus<U64x1>::Set(modulus);
    const T* a = Data<const T>(launch, 1) + at[1];
    U64x1 sum = {0}, seen = {0};
    for (u64 s = 0; s < terms; ++s) {
      const U64x1 term = U64x1::Load(a + (i64)s * step);
      seen = See(seen, term, m.last);
      sum = SubIfAtLeast(Add(sum, term), m.q);
    }
    if (SawMore(seen, m.last)) {
      T exact = 0;
      for (u64 s = 0; s < terms; ++s) {
        exact = Remainder<T>((i128)exact + a[(i64)s * step], (T)modulus.q);
      }
      sum.v = (u64)(i64)exact;
    }
    sum.Store(Data<T>(launch, 0) + at[0]);
  });
}

template <class T>
CW_INLINE u64 CanonicalOf(T word, u64 q) {
  const u64 any = (u64)(i64)word;
  return any < q ? any : CanonicalRemainder((i64)word, q);
}

// out[r, k, u] += sum_s a[r, k, n, s] b[k, u, s], with n the place that the permutation takes to u.
template <class T>
CW_INLINE void SumProducts(const cw_launch& launch, u64 units, bool by_rows, const Grid& grid) {
  const AxisSumPlan plan(launch);
  void* prepared = const_cast<void*>(launch.prepared);
  const SumModulus* moduli = AxisSumPlan::Moduli(prepared);
  const u32* inverse =
      AxisSumPlan::Header(prepared)->permuted != 0 ? plan.Inverse(prepared) : nullptr;
  const i64 *out_at = Strides(launch, 0), *a_at = Strides(launch, 1), *b_at = Strides(launch, 2);
  // The place along n, as an operand: a alone is read at its image.
  const i64 ones[3] = {0, 0, 1}, rows[3] = {a_at[0], a_at[1], 0};
  const i64 limbs[3] = {0, plan.moduli == 1 ? 0 : 1, 0};
  const i64* strides[5] = {out_at, rows, b_at, limbs, ones};
  const u64 terms = Dim(launch, 3);
  ForEachPlace(grid, 3, launch.dims, strides, units, by_rows, [&](const i64* at) {
    const SumModulus& m = moduli[at[3]];
    const i64 place = inverse == nullptr ? at[4] : (i64)inverse[at[4]];
    const T* a = Data<const T>(launch, 1) + at[1] + place * a_at[2];
    const T* b = Data<const T>(launch, 2) + at[2];
    T* out = Data<T>(launch, 0) + at[0];
    u128 sum = CanonicalOf(*out, m.q);
    for (u64 s = 0; s < terms;) {
      for (const u64 stop = Min(terms, s + kSumTerms); s < stop; ++s) {
        sum += (u128)CanonicalOf(a[(i64)s * a_at[3]], m.q) *
               CanonicalOf(b[(i64)s * b_at[3]], m.q);
      }
      sum = ReduceWide(U64x1{(u64)(sum >> 64)}, U64x1{(u64)sum}, m).v;
    }
    *out = (T)(u64)sum;
  });
}

// The list of moduli, one record a thread.
template <class T>
CW_INLINE void MakeModuli(const cw_launch& launch, u32 operand, unsigned char* memory) {
  i64 list_strides[kMaxRank];
  const u64 count = ModulusStrides(launch, operand, list_strides);
  const i64* own = Strides(launch, operand);
  for (u64 i = ThreadIndex(); i < count; i += ThreadCount()) {
    i64 offset = 0;
    u64 rest = i;
    for (u32 axis = launch.rank; axis-- > 0;) {
      if (list_strides[axis] != 0) offset += (i64)TakeIndex(rest, Dim(launch, axis)) * own[axis];
    }
    const i64 word = (i64)Data<const T>(launch, operand)[offset];
    reinterpret_cast<Modulus*>(memory)[i] = MakeModulus(word);
  }
}

}  // namespace
}  // namespace cw

#define CW_MODULAR(kernel, suffix, call)            \
  CW_CUDA_FUNCTION(cw_##kernel##_##suffix##_cuda) { \
    using namespace cw;                             \
    call(own, units, argument != 0, grid);          \
  }
#define CW_MODULAR_OP(kernel, Op)                 \
  CW_MODULAR(kernel, i32, (Modular<Op, int32_t>)) \
  CW_MODULAR(kernel, i64, (Modular<Op, int64_t>))
CW_MODULAR_OP(modmul, ModMulOp)
CW_MODULAR_OP(modmuladd, ModMulAddOp)
CW_MODULAR_OP(modsum, ModSumOp)
CW_MODULAR_OP(mod, ModOp)
CW_MODULAR_OP(modneg, ModNegOp)
CW_MODULAR(axis_modsum, i32, SumAxis<int32_t>)
CW_MODULAR(axis_modsum, i64, SumAxis<int64_t>)
CW_MODULAR(modmul_axis_sum, i32, SumProducts<int32_t>)
CW_MODULAR(modmul_axis_sum, i64, SumProducts<int64_t>)

#define CW_MODULI(operand, suffix, T)                  \
  CW_CUDA_ALONE(cw_prepare_kModuli##operand##suffix) { \
    using namespace cw;                                \
    MakeModuli<T>(own, operand, memory);               \
  }
CW_MODULI(2, I32, int32_t)
CW_MODULI(2, I64, int64_t)
CW_MODULI(3, I32, int32_t)
CW_MODULI(3, I64, int64_t)
CW_MODULI(4, I32, int32_t)
CW_MODULI(4, I64, int64_t)

// One thread: the places of an inverse permutation are written in any order.
#include "kernels/modular/prepare.cc"

CW_CUDA_PREPARE(kAxisSumI32)
CW_CUDA_PREPARE(kAxisSumI64)
