// Arithmetic of 4 and 6 words on NVIDIA's GPUs: carry chains in PTX, each one statement, since the
// carry is no operand.
//
// A Montgomery product is taken limb by limb of 32 bits and reduced after each (CIOS, as in adx.h).
// A chain of products of 64 bits has every second limb, so that two sums are kept: t = even + 2^32
// odd. A step divides by 2^32: they change places.
#ifndef CLOAKWORK_KERNELS_FIELD_PTX_H_
#define CLOAKWORK_KERNELS_FIELD_PTX_H_

#include "kernels/field/primes.h"

#if defined(CW_CUDA) && !defined(CW_CUDA_SHIM)
#define CW_HAS_PTX 1

namespace cw {
namespace {

// a + b, without overflow.
CW_INLINE Words<4> Plus(const Words<4>& a, const Words<4>& b) {
  Words<4> r;
  asm("add.cc.u64 %0, %4, %8;\n\taddc.cc.u64 %1, %5, %9;\n\t"
      "addc.cc.u64 %2, %6, %10;\n\taddc.u64 %3, %7, %11;"
      : "=&l"(r.word[0]), "=&l"(r.word[1]), "=&l"(r.word[2]), "=&l"(r.word[3])
      : "l"(a.word[0]), "l"(a.word[1]), "l"(a.word[2]), "l"(a.word[3]), "l"(b.word[0]),
        "l"(b.word[1]), "l"(b.word[2]), "l"(b.word[3]));
  return r;
}
CW_INLINE Words<6> Plus(const Words<6>& a, const Words<6>& b) {
  Words<6> r;
  asm("add.cc.u64 %0, %6, %12;\n\taddc.cc.u64 %1, %7, %13;\n\t"
      "addc.cc.u64 %2, %8, %14;\n\taddc.cc.u64 %3, %9, %15;\n\t"
      "addc.cc.u64 %4, %10, %16;\n\taddc.u64 %5, %11, %17;"
      : "=&l"(r.word[0]), "=&l"(r.word[1]), "=&l"(r.word[2]), "=&l"(r.word[3]), "=&l"(r.word[4]),
        "=&l"(r.word[5])
      : "l"(a.word[0]), "l"(a.word[1]), "l"(a.word[2]), "l"(a.word[3]), "l"(a.word[4]),
        "l"(a.word[5]), "l"(b.word[0]), "l"(b.word[1]), "l"(b.word[2]), "l"(b.word[3]),
        "l"(b.word[4]), "l"(b.word[5]));
  return r;
}

// a - b; mask receives all ones where a < b, else 0.
CW_INLINE Words<4> Difference(const Words<4>& a, const Words<4>& b, u64* mask) {
  Words<4> r;
  asm("sub.cc.u64 %0, %5, %9;\n\tsubc.cc.u64 %1, %6, %10;\n\t"
      "subc.cc.u64 %2, %7, %11;\n\tsubc.cc.u64 %3, %8, %12;\n\tsubc.u64 %4, 0, 0;"
      : "=&l"(r.word[0]), "=&l"(r.word[1]), "=&l"(r.word[2]), "=&l"(r.word[3]), "=&l"(*mask)
      : "l"(a.word[0]), "l"(a.word[1]), "l"(a.word[2]), "l"(a.word[3]), "l"(b.word[0]),
        "l"(b.word[1]), "l"(b.word[2]), "l"(b.word[3]));
  return r;
}
CW_INLINE Words<6> Difference(const Words<6>& a, const Words<6>& b, u64* mask) {
  Words<6> r;
  asm("sub.cc.u64 %0, %7, %13;\n\tsubc.cc.u64 %1, %8, %14;\n\t"
      "subc.cc.u64 %2, %9, %15;\n\tsubc.cc.u64 %3, %10, %16;\n\t"
      "subc.cc.u64 %4, %11, %17;\n\tsubc.cc.u64 %5, %12, %18;\n\tsubc.u64 %6, 0, 0;"
      : "=&l"(r.word[0]), "=&l"(r.word[1]), "=&l"(r.word[2]), "=&l"(r.word[3]), "=&l"(r.word[4]),
        "=&l"(r.word[5]), "=&l"(*mask)
      : "l"(a.word[0]), "l"(a.word[1]), "l"(a.word[2]), "l"(a.word[3]), "l"(a.word[4]),
        "l"(a.word[5]), "l"(b.word[0]), "l"(b.word[1]), "l"(b.word[2]), "l"(b.word[3]),
        "l"(b.word[4]), "l"(b.word[5]));
  return r;
}

// a where a < p, else a - p.
template <class Prime, u32 N>
CW_INLINE Words<N> Reduce(const Words<N>& a) {
  u64 below;
  Words<N> r = Difference(a, Prime::kModulus, &below);
#pragma unroll
  for (u32 i = 0; i < N; ++i) r.word[i] = below != 0 ? a.word[i] : r.word[i];
  return r;
}

// The limbs of a number: every second one, from the lowest or the next.
template <u32 N>
struct Limbs {
  u32 limb[2][N];
};
template <u32 N>
CW_INLINE Limbs<N> LimbsOf(const Words<N>& a) {
  Limbs<N> r;
#pragma unroll
  for (u32 i = 0; i < N; ++i) {
    r.limb[0][i] = (u32)a.word[i];
    r.limb[1][i] = (u32)(a.word[i] >> 32);
  }
  return r;
}

// t += a b, and top += the carry.
CW_INLINE void AddProducts(u32 (&t)[8], u32& top, const u32 (&a)[4], u32 b) {
  asm("mad.lo.cc.u32 %0, %9, %13, %0;\n\tmadc.hi.cc.u32 %1, %9, %13, %1;\n\t"
      "madc.lo.cc.u32 %2, %10, %13, %2;\n\tmadc.hi.cc.u32 %3, %10, %13, %3;\n\t"
      "madc.lo.cc.u32 %4, %11, %13, %4;\n\tmadc.hi.cc.u32 %5, %11, %13, %5;\n\t"
      "madc.lo.cc.u32 %6, %12, %13, %6;\n\tmadc.hi.cc.u32 %7, %12, %13, %7;\n\t"
      "addc.u32 %8, %8, 0;"
      : "+r"(t[0]), "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(t[4]), "+r"(t[5]), "+r"(t[6]),
        "+r"(t[7]), "+r"(top)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b));
}
CW_INLINE void AddProducts(u32 (&t)[12], u32& top, const u32 (&a)[6], u32 b) {
  asm("mad.lo.cc.u32 %0, %13, %19, %0;\n\tmadc.hi.cc.u32 %1, %13, %19, %1;\n\t"
      "madc.lo.cc.u32 %2, %14, %19, %2;\n\tmadc.hi.cc.u32 %3, %14, %19, %3;\n\t"
      "madc.lo.cc.u32 %4, %15, %19, %4;\n\tmadc.hi.cc.u32 %5, %15, %19, %5;\n\t"
      "madc.lo.cc.u32 %6, %16, %19, %6;\n\tmadc.hi.cc.u32 %7, %16, %19, %7;\n\t"
      "madc.lo.cc.u32 %8, %17, %19, %8;\n\tmadc.hi.cc.u32 %9, %17, %19, %9;\n\t"
      "madc.lo.cc.u32 %10, %18, %19, %10;\n\tmadc.hi.cc.u32 %11, %18, %19, %11;\n\t"
      "addc.u32 %12, %12, 0;"
      : "+r"(t[0]), "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(t[4]), "+r"(t[5]), "+r"(t[6]),
        "+r"(t[7]), "+r"(t[8]), "+r"(t[9]), "+r"(t[10]), "+r"(t[11]), "+r"(top)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(b));
}

// t = t / 2^64 + a b, where t's limb 1 goes to `low` first, and its carry to the new limb 0.
CW_INLINE void ShiftAndAddProducts(u32& low, u32 (&t)[8], const u32 (&a)[4], u32 b) {
  asm("add.cc.u32 %8, %8, %1;\n\t"
      "madc.lo.cc.u32 %0, %9, %13, %2;\n\tmadc.hi.cc.u32 %1, %9, %13, %3;\n\t"
      "madc.lo.cc.u32 %2, %10, %13, %4;\n\tmadc.hi.cc.u32 %3, %10, %13, %5;\n\t"
      "madc.lo.cc.u32 %4, %11, %13, %6;\n\tmadc.hi.cc.u32 %5, %11, %13, %7;\n\t"
      "madc.lo.cc.u32 %6, %12, %13, 0;\n\tmadc.hi.u32 %7, %12, %13, 0;"
      : "+r"(t[0]), "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(t[4]), "+r"(t[5]), "+r"(t[6]),
        "+r"(t[7]), "+r"(low)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b));
}
CW_INLINE void ShiftAndAddProducts(u32& low, u32 (&t)[12], const u32 (&a)[6], u32 b) {
  asm("add.cc.u32 %12, %12, %1;\n\t"
      "madc.lo.cc.u32 %0, %13, %19, %2;\n\tmadc.hi.cc.u32 %1, %13, %19, %3;\n\t"
      "madc.lo.cc.u32 %2, %14, %19, %4;\n\tmadc.hi.cc.u32 %3, %14, %19, %5;\n\t"
      "madc.lo.cc.u32 %4, %15, %19, %6;\n\tmadc.hi.cc.u32 %5, %15, %19, %7;\n\t"
      "madc.lo.cc.u32 %6, %16, %19, %8;\n\tmadc.hi.cc.u32 %7, %16, %19, %9;\n\t"
      "madc.lo.cc.u32 %8, %17, %19, %10;\n\tmadc.hi.cc.u32 %9, %17, %19, %11;\n\t"
      "madc.lo.cc.u32 %10, %18, %19, 0;\n\tmadc.hi.u32 %11, %18, %19, 0;"
      : "+r"(t[0]), "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(t[4]), "+r"(t[5]), "+r"(t[6]),
        "+r"(t[7]), "+r"(t[8]), "+r"(t[9]), "+r"(t[10]), "+r"(t[11]), "+r"(low)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(b));
}

// Products without a chain: no two of them meet in a limb.
template <u32 N>
CW_INLINE void SetProducts(u32 (&t)[2 * N], const u32 (&a)[N], u32 b) {
#pragma unroll
  for (u32 i = 0; i < N; ++i) {
    const u64 product = (u64)a[i] * b;
    t[2 * i] = (u32)product;
    t[2 * i + 1] = (u32)(product >> 32);
  }
}

// t + m p is a multiple of 2^32.
template <class Prime, u32 N>
CW_INLINE void AddMultiple(u32 (&even)[2 * N], u32 (&odd)[2 * N]) {
  const Limbs<N> p = LimbsOf(Prime::kModulus);
  const u32 multiple = even[0] * (u32)Prime::template kInverse64<N>;
  u32 none = 0;  // the sum is below 2^(64 N + 32)
  AddProducts(odd, none, p.limb[1], multiple);
  AddProducts(even, odd[2 * N - 1], p.limb[0], multiple);
}

// a b / 2^(64 N) mod p, below 2p, for a below p and b below 2^(64 N).
template <class Prime, u32 N>
CW_INLINE Words<N> MulPtx(const Words<N>& a_words, const Words<N>& b_words) {
  const Limbs<N> a = LimbsOf(a_words), b = LimbsOf(b_words);
  u32 even[2 * N], odd[2 * N];
  SetProducts<N>(even, a.limb[0], b.limb[0][0]);
  SetProducts<N>(odd, a.limb[1], b.limb[0][0]);
  AddMultiple<Prime, N>(even, odd);
#pragma unroll
  for (u32 i = 1; i < 2 * N; ++i) {
    u32(&low)[2 * N] = i % 2 != 0 ? odd : even;
    u32(&high)[2 * N] = i % 2 != 0 ? even : odd;
    const u32 factor = b.limb[i % 2][i / 2];
    ShiftAndAddProducts(low[0], high, a.limb[1], factor);
    AddProducts(low, high[2 * N - 1], a.limb[0], factor);
    AddMultiple<Prime, N>(low, high);
  }
  Words<N> left, right;  // the halves of the last division by 2^32
#pragma unroll
  for (u32 i = 0; i < N; ++i) {
    left.word[i] = even[2 * i] | (u64)even[2 * i + 1] << 32;
    right.word[i] = odd[2 * i + 1] | (i + 1 < N ? (u64)odd[(2 * i + 2) % (2 * N)] << 32 : 0);
  }
  return Plus(left, right);
}

}  // namespace
}  // namespace cw

#endif
#endif  // CLOAKWORK_KERNELS_FIELD_PTX_H_
