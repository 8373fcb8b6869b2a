// Recurrences over long rows: a row is cut into runs, and eight runs advance together, so that a
// product does not wait for the one before it.
#ifndef CLOAKWORK_KERNELS_POLY_GROUPS_H_
#define CLOAKWORK_KERNELS_POLY_GROUPS_H_

#include "kernels/field/vectors.h"

namespace cw {
namespace {

// Elements of a run, and runs that a unit advances together. Declarations in Rust repeat both.
constexpr u64 kRun = 128;
constexpr u64 kTogether = 8;

// One value of each run, as arrays of elements.
template <class F>
struct ArrayGroup {
  struct Values {
    F lane[kTogether];
  };
  using Factor = F;  // one for all runs
  static CW_INLINE Values Load(const F* a, i64 apart) {
    Values v;
    for (u64 l = 0; l < kTogether; ++l) v.lane[l] = a[(i64)l * apart];
    return v;
  }
  static CW_INLINE void Store(const Values& v, F* out, i64 apart) {
    for (u64 l = 0; l < kTogether; ++l) out[(i64)l * apart] = v.lane[l];
  }
  static CW_INLINE Values Same(const F& x) {
    Values v;
    for (F& lane : v.lane) lane = x;
    return v;
  }
  static CW_INLINE Factor MakeFactor(const F& x) { return x; }
  // h x + a.
  static CW_INLINE Values MulAdd(const Values& h, const Factor& x, const Values& a) {
    Values v;
    for (u64 l = 0; l < kTogether; ++l) v.lane[l] = Add(Mul(h.lane[l], x), a.lane[l]);
    return v;
  }
  // h times the elements at a.
  static CW_INLINE Values MulAt(const Values& h, const F* a, i64 apart) {
    Values v;
    for (u64 l = 0; l < kTogether; ++l) v.lane[l] = Mul(h.lane[l], a[(i64)l * apart]);
    return v;
  }
};

template <class F>
struct GroupOf {
  using Type = ArrayGroup<F>;
};

#if defined(__AVX512IFMA__)
// The same by 52-bit multiply-add: values below 4 p in the form of memory.
template <class P>
struct IfmaGroup {
  using F = Fp<P>;
  using Values = FieldX8<P>;
  using Factor = FieldX8<P>;  // in the form of 52-bit words
  template <int shift>
  static CW_INLINE Values Gathered(const F* a, i64 apart) {
    const u64* at[8];
    for (int l = 0; l < 8; ++l) at[l] = WordsOf(a + l * apart);
    __m512i word[P::kWords];
    GatherWords<P::kWords>(at, word);
    return FromWords<Values, shift>(word);
  }
  static CW_INLINE Values Load(const F* a, i64 apart) { return Gathered<0>(a, apart); }
  static CW_INLINE void Store(const Values& v, F* out, i64 apart) {
    u64* at[8];
    for (int l = 0; l < 8; ++l) at[l] = WordsOf(out + l * apart);
    __m512i word[P::kWords];
    ToWords(Canonical<4>(v), word);
    ScatterWords<P::kWords>(word, at);
  }
  static CW_INLINE Values Same(const F& x) { return BroadcastWords<Values, 0>(x.value.word); }
  static CW_INLINE Factor MakeFactor(const F& x) {
    return BroadcastWords<Values, P::kShift52>(x.value.word);
  }
  // (1 + e + 4 2^kShift52 / kRoom) p + p is below 4 p.
  static CW_INLINE Values MulAdd(const Values& h, const Factor& x, const Values& a) {
    return Add(Mul(h, x), a);
  }
  static CW_INLINE Values MulAt(const Values& h, const F* a, i64 apart) {
    return Mul(h, Gathered<P::kShift52>(a, apart));
  }
};
template <class P>
struct GroupOf<Fp<P>> {
  using Type = IfmaGroup<P>;
};
#endif

// Units are all dims except the last, which only gives the cost of a unit.
template <class T>
CW_INLINE T* UnitData(const cw_launch& launch, u32 operand, u64 unit) {
  const i64 at = OffsetAt(unit, launch.rank - 1, launch.dims, Strides(launch, operand));
  return Data<T>(launch, operand) + at;
}
// The index of a unit along the last dim of units.
CW_INLINE u64 GroupOfUnit(const cw_launch& launch, u64 unit) {
  return unit % Dim(launch, launch.rank - 2);
}

// A unit's part of a row of n elements: `runs` runs from element `begin`, the last maybe shorter.
struct RunsOfUnit {
  u64 begin, end, runs;
  bool whole;  // kTogether runs of kRun elements

  RunsOfUnit(u64 group, u64 n)
      : begin(group * kTogether * kRun),
        end(Min(begin + kTogether * kRun, n)),
        runs((end - begin + kRun - 1) / kRun),
        whole(end - begin == kTogether * kRun) {}
};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_GROUPS_H_
