// The cyclic number-theoretic transform over fields, natural order in and out.
//
// n = n1 n2 elements are a matrix of n1 rows. Columns are transformed, elements multiplied by
// powers of the root, and then the rows are transformed (Bailey 1990, FFTs in external or
// hierarchical memory): so a unit of neighbouring columns stays in the second-level cache, and a
// vector holds one position of neighbouring columns.
#ifndef CLOAKWORK_KERNELS_POLY_NTT_H_
#define CLOAKWORK_KERNELS_POLY_NTT_H_

#include "kernels/poly/groups.h"
#include "kernels/poly/lanes.h"
#include "kernels/poly/ntt_tables.h"

namespace cw {
namespace {

// The reversed index after this one: the carry propagates downwards. half is the highest bit.
CW_INLINE u64 NextReversedIndex(u64 reversed, u64 half) {
  while (half != 0 && (reversed & half) != 0) {
    reversed ^= half;
    half >>= 1;
  }
  return reversed | half;
}

// Transforms length vectors modulo X^length - v into bit-reversed order, where roots[block] is the
// square root of v (Cooley and Tukey; the tree of Bernstein, Multidigit multiplication for
// mathematicians). Halves are finished one after another: the deepest levels stay in the first
// cache.
template <class L>
void TransformBlock(typename L::Vector* x, u64 length, u64 block,
                    const typename L::Root* roots) {
  if (length < 2) return;
  if (length == 2) {
    if (block == 0) return L::ButterflyOne(x[0], x[1]);
    return L::Butterfly(x[0], x[1], roots[block]);
  }
  const u64 quarter = length / 4;
  typename L::Vector *x1 = x + quarter, *x2 = x1 + quarter, *x3 = x2 + quarter;
  if (block == 0) {
    for (u64 j = 0; j < quarter; ++j) L::ButterflyOne4(x[j], x1[j], x2[j], x3[j], roots);
  } else {
    for (u64 j = 0; j < quarter; ++j) {
      L::Butterfly4(x[j], x1[j], x2[j], x3[j], roots[block], roots + 2 * block);
    }
  }
  for (u64 child = 0; child < 4 && quarter > 1; ++child) {
    TransformBlock<L>(x + child * quarter, quarter, 4 * block + child, roots);
  }
}

// Operands: out [n2, n1] side by side, a, shift. dims: rows..., n2 / columns.
template <class V, class In, class Out>
void FieldNttColumns(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  using L = typename LanesOf<Out>::Type;
  const NttShape shape(launch.params);
  const NttTables<L> tables(shape, launch.prepared, true);
  auto* x = static_cast<typename L::Vector*>(scratch);
  const i64 step = shape.stride;
  for (u64 unit = begin; unit < end; ++unit) {
    const u64 column = GroupOfUnit(launch, unit) * L::kCount;
    const Out* a = UnitData<const Out>(launch, 1, unit);
    Out* out = UnitData<Out>(launch, 0, unit);
    for (u64 j = 0; j < shape.n1; ++j) {
      x[j] = L::Load(a + (i64)(j * shape.n2) * step, step);
      if (tables.scales != nullptr) x[j] = L::Scale(x[j], tables.scales[j]);
    }
    TransformBlock<L>(x, shape.n1, 0, tables.roots);
    auto factor = L::LoadFactors(tables.first + column);
    const auto next = L::LoadFactors(tables.next + column);
    u64 place = 0;
    for (u64 k = 0; k < shape.n1; ++k) {
      L::Store(L::MulFactors(x[place], factor), out + k, (i64)shape.n1);
      factor = L::MulFactors(factor, next);
      place = NextReversedIndex(place, shape.n1 / 2);
    }
  }
}

// Operands: out, a [n2, n1] side by side, shift. dims: rows..., n1 / columns.
template <class V, class In, class Out>
void FieldNttRows(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  using L = typename LanesOf<Out>::Type;
  const NttShape shape(launch.params);
  const NttTables<L> tables(shape, launch.prepared, false);
  auto* x = static_cast<typename L::Vector*>(scratch);
  const i64 step = shape.stride;
  for (u64 unit = begin; unit < end; ++unit) {
    const Out* a = UnitData<const Out>(launch, 1, unit);
    Out* out = UnitData<Out>(launch, 0, unit);
    for (u64 j = 0; j < shape.n2; ++j) x[j] = L::Load(a + j * shape.n1, 1);
    TransformBlock<L>(x, shape.n2, 0, tables.roots);
    u64 place = 0;
    for (u64 k = 0; k < shape.n2; ++k) {
      typename L::Vector v = x[place];
      if (tables.scales != nullptr) v = L::Scale(v, tables.scales[k]);
      L::StoreResult(v, out + (i64)(k * shape.n1) * step, step);
      place = NextReversedIndex(place, shape.n2 / 2);
    }
  }
}

// Operands: out, a, shift, for transforms too short to be a matrix of vectors. dims: rows...
// params: also the result's stride.
template <class V, class In, class Out>
void FieldNttShort(const cw_launch& launch, u64 begin, u64 end, void* scratch) {
  const NttShape shape(launch.params);
  const i64 to = launch.params[4];
  const auto* tables = static_cast<const Out*>(launch.prepared);
  const Out *roots = tables, *before = tables + shape.n1, *after = before + shape.n1;
  auto* x = static_cast<Out*>(scratch);
  for (u64 unit = begin; unit < end; ++unit) {
    const Out* a = UnitData<const Out>(launch, 1, unit);
    Out* out = UnitData<Out>(launch, 0, unit);
    for (u64 j = 0; j < shape.n1; ++j) x[j] = Mul(a[(i64)j * shape.stride], before[j]);
    u64 blocks = 1;
    for (u64 half = shape.n1 / 2; half > 0; half /= 2, blocks *= 2) {
      for (u64 block = 0; block < blocks; ++block) {
        for (u64 j = 2 * block * half; j < (2 * block + 1) * half; ++j) {
          const Out u = x[j], t = Mul(x[j + half], roots[block]);
          x[j] = Add(u, t);
          x[j + half] = Sub(u, t);
        }
      }
    }
    u64 place = 0;
    for (u64 k = 0; k < shape.n1; ++k) {
      out[(i64)k * to] = Mul(x[place], after[k]);
      place = NextReversedIndex(place, shape.n1 / 2);
    }
  }
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_NTT_H_
