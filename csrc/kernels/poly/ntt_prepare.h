// Fills the tables of transforms.
#ifndef CLOAKWORK_KERNELS_POLY_NTT_PREPARE_H_
#define CLOAKWORK_KERNELS_POLY_NTT_PREPARE_H_

#include "kernels/poly/ntt_tables.h"

namespace cw {
namespace {

// The form of constants: elements.
template <class F>
struct PlainForm {
  using Element = F;
  using Constant = F;
  using Root = typename CoefficientsOf<F>::Type;
  F MakeConstant(const F& w) const { return w; }
  Root MakeRoot(const Root& w) const { return w; }
  F MakeFactor(const F& w) const { return w; }
};
// The form of constants for 52-bit multiply-add.
template <class P>
struct Form52 : Constants52<P> {
  using Element = Fp<P>;
  using Constant = Constant52;
  using Root = Constant52;
};

// values[i] = start ratio^i.
template <class F, class Make, class T>
void Powers(T* values, u64 count, F start, const F& ratio, Make make) {
  for (u64 i = 0; i < count; ++i) {
    values[i] = make(start);
    start = Mul(start, ratio);
  }
}

// The numbers that tables are computed from, besides the shape.
template <class F>
struct NttNumbers {
  F root, shift, scale;

  NttNumbers(const cw_launch& launch, const NttShape& shape) {
    root = RootOfUnity<F>(shape.log_n);
    shift = shape.shifted ? *Data<const F>(launch, 2) : OneOf<F>();
    scale = OneOf<F>();
    if (shape.scaled) scale = Inverse(FromU64<F>((u64)1 << shape.log_n));
    if (shape.inverse) {
      root = Inverse(root);
      shift = Inverse(shift);
    }
  }
};

// roots[i] of a transform of this length: bit m of i turns by the root of order 2^(m + 2).
template <class F, class Make, class T>
void FillRoots(const NttShape& shape, u64 length, T* roots, Make make) {
  F turn[64], above[65];  // above[m]: the product of the turns of bits m and higher
  for (F& product : above) product = OneOf<F>();
  roots[0] = make(OneOf<F>());
  for (u32 m = 0; ((u64)2 << m) < length; ++m) {
    turn[m] = RootOfUnity<F>(m + 2);
    if (shape.inverse) turn[m] = Inverse(turn[m]);
  }
  for (u64 i = 1; i < length / 2; ++i) {
    const u32 lowest = (u32)__builtin_ctzll(i);  // the bit that i - 1 lacks; the bits below are 0
    above[lowest] = Mul(above[lowest + 1], turn[lowest]);
    for (u32 m = 0; m < lowest; ++m) above[m] = above[lowest];
    roots[i] = make(above[0]);
  }
}

template <class Form>
void FillRoots(const Form& form, const NttShape& shape, u64 length, typename Form::Root* roots) {
  using F = typename CoefficientsOf<typename Form::Element>::Type;
  FillRoots<F>(shape, length, roots, [&](const F& w) { return form.MakeRoot(w); });
}

template <class Form>
void PrepareColumns(const cw_launch& launch, void* prepared) {
  using F = typename Form::Element;
  const Form form;
  const NttShape shape(launch.params);
  const NttTables<Form> tables(shape, prepared, true);
  const NttNumbers<F> numbers(launch, shape);
  FillRoots(form, shape, shape.n1, tables.roots);
  auto constant = [&](const F& w) { return form.MakeConstant(w); };
  auto factor = [&](const F& w) { return form.MakeFactor(w); };
  const F one = OneOf<F>();
  if (tables.scales != nullptr) {
    Powers(tables.scales, shape.n1, one, Power(numbers.shift, shape.n2), constant);
  }
  const bool before = shape.shifted && !shape.inverse, after = shape.shifted && shape.inverse;
  Powers(tables.first, shape.n2, numbers.scale, before ? numbers.shift : one, factor);
  Powers(tables.next, shape.n2, after ? numbers.shift : one, numbers.root, factor);
}

template <class Form>
void PrepareRows(const cw_launch& launch, void* prepared) {
  using F = typename Form::Element;
  const Form form;
  const NttShape shape(launch.params);
  const NttTables<Form> tables(shape, prepared, false);
  FillRoots(form, shape, shape.n2, tables.roots);
  if (tables.scales == nullptr) return;
  const NttNumbers<F> numbers(launch, shape);
  Powers(tables.scales, shape.n2, OneOf<F>(), Power(numbers.shift, shape.n1),
         [&](const F& w) { return form.MakeConstant(w); });
}

// roots [n], factors before [n] and after [n].
template <class F>
void PrepareShort(const cw_launch& launch, void* prepared) {
  const NttShape shape(launch.params);
  const NttNumbers<F> numbers(launch, shape);
  auto* roots = static_cast<F*>(prepared);
  const F one = OneOf<F>();
  auto same = [](const F& w) { return w; };
  FillRoots<F>(shape, shape.n1, roots, same);
  Powers(roots + shape.n1, shape.n1, one, shape.inverse ? one : numbers.shift, same);
  Powers(roots + 2 * shape.n1, shape.n1, numbers.scale, shape.inverse ? numbers.shift : one, same);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_NTT_PREPARE_H_
