// Arithmetic of a transform: a vector of neighbouring columns, and constants that multiply all of
// them. Eight columns with 52-bit multiply-add, else an array of elements.
#ifndef CLOAKWORK_KERNELS_POLY_LANES_H_
#define CLOAKWORK_KERNELS_POLY_LANES_H_

#include "kernels/field/elements.h"
#include "kernels/field/shoup.h"

namespace cw {
namespace {

// Whether an instruction set computes on eight elements together.
template <class F>
constexpr bool kHasEight = kOfMontgomeryWords<F> && sizeof(F) == 32;

// Columns that a unit transforms: at least a cache line. Declarations in Rust repeat it.
template <class F>
constexpr u64 kColumns = kHasEight<F> ? 8 : 16;

// Bytes of a root, of a constant and of a vector, of any instruction set.
template <class F>
constexpr u64 kConstantBytes = kHasEight<F> ? sizeof(Constant52) : sizeof(F);
template <class F>
constexpr u64 kRootBytes = kConstantBytes<typename CoefficientsOf<F>::Type>;
template <class F>
constexpr u64 kVectorBytes = kHasEight<F> ? 8 * 5 * sizeof(u64) : 16 * sizeof(F);

// Element by element.
template <class F>
struct ArrayLanes {
  using Element = F;
  using Constant = F;
  using Root = typename CoefficientsOf<F>::Type;  // of unity: of the prime field
  static constexpr u64 kCount = kColumns<F>;
  struct Vector {
    F lane[kCount];
  };
  // One constant for each lane.
  using Factors = Vector;

  static CW_INLINE Vector Load(const F* a, i64 step) {
    Vector v;
    for (u64 l = 0; l < kCount; ++l) v.lane[l] = a[(i64)l * step];
    return v;
  }
  static CW_INLINE Factors LoadFactors(const F* a) { return Load(a, 1); }
  static CW_INLINE void Store(const Vector& v, F* out, i64 step) {
    for (u64 l = 0; l < kCount; ++l) out[(i64)l * step] = v.lane[l];
  }
  static CW_INLINE void StoreResult(const Vector& v, F* out, i64 step) { Store(v, out, step); }
  static CW_INLINE Vector MulFactors(const Vector& a, const Factors& b) {
    Vector v;
    for (u64 l = 0; l < kCount; ++l) v.lane[l] = Mul(a.lane[l], b.lane[l]);
    return v;
  }
  static CW_INLINE Vector Scale(const Vector& a, const Constant& w) {
    Vector v;
    for (u64 l = 0; l < kCount; ++l) v.lane[l] = Mul(a.lane[l], w);
    return v;
  }
  // (x, y) <- (x + w y, x - w y).
  static CW_INLINE void Butterfly(Vector& x, Vector& y, const Root& w) {
    for (u64 l = 0; l < kCount; ++l) {
      const F u = x.lane[l], t = Mul(y.lane[l], w);
      x.lane[l] = Add(u, t);
      y.lane[l] = Sub(u, t);
    }
  }
  static CW_INLINE void ButterflyOne(Vector& x, Vector& y) {
    for (u64 l = 0; l < kCount; ++l) {
      const F u = x.lane[l], t = y.lane[l];
      x.lane[l] = Add(u, t);
      y.lane[l] = Sub(u, t);
    }
  }
  // Two levels: one constant for the upper, one for each half of the lower.
  static CW_INLINE void Butterfly4(Vector& x0, Vector& x1, Vector& x2, Vector& x3,
                                   const Root& upper, const Root* lower) {
    Butterfly(x0, x2, upper);
    Butterfly(x1, x3, upper);
    Butterfly(x0, x1, lower[0]);
    Butterfly(x2, x3, lower[1]);
  }
  // The same if upper and lower[0] are 1.
  static CW_INLINE void ButterflyOne4(Vector& x0, Vector& x1, Vector& x2, Vector& x3,
                                      const Root* lower) {
    ButterflyOne(x0, x2);
    ButterflyOne(x1, x3);
    ButterflyOne(x0, x1);
    Butterfly(x2, x3, lower[1]);
  }
};

// For instruction sets without 52-bit multiply-add.
template <class F>
struct LanesOf {
  using Type = ArrayLanes<F>;
};

// Constants in the form that 52-bit multiply-add reads.
template <class P>
struct Constants52 {
  Words<5> negative_inverse = NegativeInverse260<P>();
  Constant52 MakeConstant(const Fp<P>& w) const { return ConstantOf(w, negative_inverse); }
  Constant52 MakeRoot(const Fp<P>& w) const { return MakeConstant(w); }
  // w 2^260 mod p: a product with it keeps the other operand's form.
  Fp<P> MakeFactor(const Fp<P>& w) const { return Double(Double(Double(Double(w)))); }
};

#if defined(__AVX512IFMA__)
// Between passes elements are below 24 p, their limbs of any sign. p < 2^255 and R = 2^260: R is
// above 35 p, and above 84 p where p has 254 bits.
template <class P>
struct IfmaLanes {
  using Element = Fp<P>;
  using Constant = Constant52;
  using Root = Constant52;
  using Vector = FieldX8<P>;
  using Factors = FieldX8<P>;
  static constexpr u64 kCount = 8;
  static_assert(P::kWords == 4 && FieldX8<P>::kRoom >= 35, "bounds below");

  static const u64* WordsAt(const Element* a) { return reinterpret_cast<const u64*>(a); }
  static u64* WordsAt(Element* a) { return reinterpret_cast<u64*>(a); }
  // The column of each lane, for neighbours as they are loaded.
  static constexpr i64 kColumn[8] = {0, 2, 1, 3, 4, 6, 5, 7};

  static CW_INLINE Vector Load(const Element* a, i64 step) {
    if (step == 1) return LoadRaw<Vector>(WordsAt(a));
    const u64* at[8];
    for (int l = 0; l < 8; ++l) at[l] = WordsAt(a + kColumn[l] * step);
    __m512i word[4];
    GatherWords<4>(at, word);
    return FromWords<Vector, 0>(word);
  }
  static CW_INLINE Factors LoadFactors(const Element* a) { return LoadRaw<Vector>(WordsAt(a)); }
  // Below 2^256.
  static CW_INLINE void Store(const Vector& v, Element* out, i64 step) {
    __m512i word[4];
    ToWords(v, word);
    if (step == 1) return StoreWords<Vector>(word, WordsAt(out));
    u64* at[8];
    for (int l = 0; l < 8; ++l) at[l] = WordsAt(out + kColumn[l] * step);
    ScatterWords<4>(word, at);
  }
  static CW_INLINE void StoreResult(const Vector& v, Element* out, i64 step) {
    Store(SubIfAtLeast<1>(Normal(ReduceWide(Normal(v)))), out, step);
  }
  // a below 35 p, b below 2 p: below (1.13 + 70 / 84) p, so below 2 p, and below 2^256.
  static CW_INLINE Vector MulFactors(const Vector& a, const Factors& b) {
    const Vector product = Mul(Normal(a), b);
    return P::kBits < 255 ? product : SubIfAtLeast<2>(product);
  }
  static CW_INLINE Vector Scale(const Vector& a, const Constant& w) {
    return MulConstant(Normal(a), w);
  }
  static CW_INLINE Vector Reduced(const Vector& a) { return ReduceWide(Normal(a)); }

  static CW_INLINE void Butterfly(Vector& x, Vector& y, const Constant& w) {
    const Vector t = MulConstant(Normal(y), w);
    y = AddTimesWide<11>(SubWide(x, t));
    x = AddWide(x, t);
  }
  static CW_INLINE void ButterflyOne(Vector& x, Vector& y) {
    const Vector u = Reduced(x), t = Reduced(y);
    y = AddTimesWide<2>(SubWide(u, t));
    x = AddWide(u, t);
  }
  static CW_INLINE void Butterfly4(Vector& x0, Vector& x1, Vector& x2, Vector& x3,
                                   const Constant& upper, const Constant* lower) {
    const Vector a = Reduced(x0), t = MulConstant(Normal(x2), upper);
    const Vector u0 = AddWide(a, t), u2 = AddTimesWide<11>(SubWide(a, t));  // below 13 p
    const Vector b = x1, u1 = AddConstantProduct(b, Normal(x3), upper);     // below 35 p
    const Vector u3 = Normal(AddTimesWide<11>(SubWide(AddWide(b, b), u1)));  // b less the product
    const Vector s = MulConstant(u1, lower[0]);
    x0 = AddWide(u0, s);
    x1 = AddTimesWide<11>(SubWide(u0, s));
    const Vector v = MulConstant(u3, lower[1]);
    x2 = AddWide(u2, v);
    x3 = AddTimesWide<11>(SubWide(u2, v));
  }
  static CW_INLINE void ButterflyOne4(Vector& x0, Vector& x1, Vector& x2, Vector& x3,
                                      const Constant* lower) {
    const Vector a = Reduced(x0), b = Reduced(x1), c = Reduced(x2), d = Reduced(x3);
    const Vector u0 = AddWide(a, c), u2 = AddTimesWide<2>(SubWide(a, c));
    const Vector u1 = AddWide(b, d), u3 = Normal(AddTimesWide<2>(SubWide(b, d)));
    const Vector v = MulConstant(u3, lower[1]);
    x0 = AddWide(u0, u1);
    x1 = AddTimesWide<4>(SubWide(u0, u1));
    x2 = AddWide(u2, v);
    x3 = AddTimesWide<11>(SubWide(u2, v));
  }
};
template <class P>
struct LanesOf<Fp<P>> {
  using Type = IfmaLanes<P>;
};
#endif

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_LANES_H_
