// The dtypes of field elements and of points, as stored in memory.
#ifndef CLOAKWORK_KERNELS_FIELD_ELEMENTS_H_
#define CLOAKWORK_KERNELS_FIELD_ELEMENTS_H_

#include "kernels/field/binomial.h"
#include "kernels/field/extension.h"

namespace cw {
namespace {

// A point of a curve over F; both coordinates of the point at infinity are 0.
template <class F>
struct Affine {
  F x, y;
};
// The coordinate type with this many parts.
template <class F, u32 parts>
struct PartsOf {
  using Type = F;
};
template <class F>
struct PartsOf<F, 2> {
  using Type = Fp2<F>;
};
#define CW_GROUP_TYPE(name, Point, dtype, Base, parts, Scalar) \
  using Point = Affine<PartsOf<Base, parts>::Type>;
CW_EACH_GROUP(CW_GROUP_TYPE)
#undef CW_GROUP_TYPE

// An element or a point of which only the size matters.
template <u32 words>
using AnyWords = Opaque<Words<words>>;

template <class P>
struct Element<Fp<P>> : TypedElement<P::kDtype> {};
template <class P>
struct Element<Fp32<P>> : TypedElement<P::kDtype> {};
template <>
struct Element<Goldilocks> : TypedElement<CW_GOLDILOCKS> {};
template <class R>
struct Element<Binomial<R>> : TypedElement<R::kDtype> {};
#define CW_GROUP_ELEMENT(name, Point, dtype, Base, parts, Scalar) \
  template <>                                                     \
  struct Element<Point> : TypedElement<dtype> {};
CW_EACH_GROUP(CW_GROUP_ELEMENT)
#undef CW_GROUP_ELEMENT

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_ELEMENTS_H_
