// The dtypes of field elements and of points, as they lie in memory.
#ifndef CLOAKWORK_KERNELS_FIELD_ELEMENTS_H_
#define CLOAKWORK_KERNELS_FIELD_ELEMENTS_H_

#include "kernels/field/extension.h"

namespace cw {
namespace {

// A point of a curve over F; both coordinates of the point at infinity are 0.
template <class F>
struct Affine {
  F x, y;
};
using Bn254G1 = Affine<Bn254Fq>;
using Bn254G2 = Affine<Bn254Fq2>;
using Bls381G1 = Affine<Bls381Fq>;
using Bls381G2 = Affine<Bls381Fq2>;

// An element or a point whose meaning does not matter, only its size.
using Any256 = Opaque<Words<4>>;
using Any384 = Opaque<Words<6>>;
using Any512 = Opaque<Words<8>>;
using Any768 = Opaque<Words<12>>;
using Any1024 = Opaque<Words<16>>;
using Any1536 = Opaque<Words<24>>;

template <class P>
struct Element<Fp<P>> : TypedElement<P::kDtype> {};
template <>
struct Element<Goldilocks> : TypedElement<CW_GOLDILOCKS> {};
template <>
struct Element<BabyBear> : TypedElement<CW_BABYBEAR> {};
template <>
struct Element<Bn254G1> : TypedElement<CW_BN254_G1> {};
template <>
struct Element<Bn254G2> : TypedElement<CW_BN254_G2> {};
template <>
struct Element<Bls381G1> : TypedElement<CW_BLS381_G1> {};
template <>
struct Element<Bls381G2> : TypedElement<CW_BLS381_G2> {};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_ELEMENTS_H_
