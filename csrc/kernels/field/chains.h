// Sums and differences modulo p of 4 and 6 words: one carry chain each, and no branch.
//
// Compilers turn 128-bit sums into code that costs as much as a product; for known processors the
// carry chain is written in assembly.
#ifndef CLOAKWORK_KERNELS_FIELD_CHAINS_H_
#define CLOAKWORK_KERNELS_FIELD_CHAINS_H_

#include "kernels/field/primes.h"
#include "kernels/field/ptx.h"

namespace cw {
namespace {

#if defined(__x86_64__)

// a where a < p, else a - p.
template <class Prime>
CW_INLINE Words<4> Reduce(const Words<4>& a) {
  u64 t0 = a.word[0], t1 = a.word[1], t2 = a.word[2], t3 = a.word[3];
  __asm__(
      "subq %[p0], %[t0]\n\tsbbq %[p1], %[t1]\n\tsbbq %[p2], %[t2]\n\tsbbq %[p3], %[t3]\n\t"
      "cmovcq %[a0], %[t0]\n\tcmovcq %[a1], %[t1]\n\tcmovcq %[a2], %[t2]\n\tcmovcq %[a3], %[t3]"
      : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
      : [a0] "r"(a.word[0]), [a1] "r"(a.word[1]), [a2] "r"(a.word[2]), [a3] "r"(a.word[3]),
        [p0] "m"(Prime::kModulus.word[0]), [p1] "m"(Prime::kModulus.word[1]),
        [p2] "m"(Prime::kModulus.word[2]), [p3] "m"(Prime::kModulus.word[3])
      : "cc");
  return {{t0, t1, t2, t3}};
}
template <class Prime>
CW_INLINE Words<6> Reduce(const Words<6>& a) {
  u64 t0 = a.word[0], t1 = a.word[1], t2 = a.word[2];
  u64 t3 = a.word[3], t4 = a.word[4], t5 = a.word[5];
  __asm__(
      "subq %[p0], %[t0]\n\tsbbq %[p1], %[t1]\n\tsbbq %[p2], %[t2]\n\tsbbq %[p3], %[t3]\n\t"
      "sbbq %[p4], %[t4]\n\tsbbq %[p5], %[t5]\n\t"
      "cmovcq %[a0], %[t0]\n\tcmovcq %[a1], %[t1]\n\tcmovcq %[a2], %[t2]\n\tcmovcq %[a3], %[t3]\n\t"
      "cmovcq %[a4], %[t4]\n\tcmovcq %[a5], %[t5]"
      : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4),
        [t5] "+&r"(t5)
      : [a0] "rm"(a.word[0]), [a1] "rm"(a.word[1]), [a2] "rm"(a.word[2]), [a3] "rm"(a.word[3]),
        [a4] "rm"(a.word[4]), [a5] "rm"(a.word[5]), [p0] "m"(Prime::kModulus.word[0]),
        [p1] "m"(Prime::kModulus.word[1]), [p2] "m"(Prime::kModulus.word[2]),
        [p3] "m"(Prime::kModulus.word[3]), [p4] "m"(Prime::kModulus.word[4]),
        [p5] "m"(Prime::kModulus.word[5])
      : "cc");
  return {{t0, t1, t2, t3, t4, t5}};
}

// a + b, without overflow.
CW_INLINE Words<4> Plus(const Words<4>& a, const Words<4>& b) {
  u64 t0 = a.word[0], t1 = a.word[1], t2 = a.word[2], t3 = a.word[3];
  __asm__("addq %[b0], %[t0]\n\tadcq %[b1], %[t1]\n\tadcq %[b2], %[t2]\n\tadcq %[b3], %[t3]"
          : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
          : [b0] "rm"(b.word[0]), [b1] "rm"(b.word[1]), [b2] "rm"(b.word[2]), [b3] "rm"(b.word[3])
          : "cc");
  return {{t0, t1, t2, t3}};
}
CW_INLINE Words<6> Plus(const Words<6>& a, const Words<6>& b) {
  u64 t0 = a.word[0], t1 = a.word[1], t2 = a.word[2];
  u64 t3 = a.word[3], t4 = a.word[4], t5 = a.word[5];
  __asm__("addq %[b0], %[t0]\n\tadcq %[b1], %[t1]\n\tadcq %[b2], %[t2]\n\t"
          "adcq %[b3], %[t3]\n\tadcq %[b4], %[t4]\n\tadcq %[b5], %[t5]"
          : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4),
            [t5] "+&r"(t5)
          : [b0] "rm"(b.word[0]), [b1] "rm"(b.word[1]), [b2] "rm"(b.word[2]),
            [b3] "rm"(b.word[3]), [b4] "rm"(b.word[4]), [b5] "rm"(b.word[5])
          : "cc");
  return {{t0, t1, t2, t3, t4, t5}};
}

// a - b; mask receives all ones where a < b, else 0.
CW_INLINE Words<4> Difference(const Words<4>& a, const Words<4>& b, u64* mask) {
  u64 t0 = a.word[0], t1 = a.word[1], t2 = a.word[2], t3 = a.word[3], under;
  __asm__("subq %[b0], %[t0]\n\tsbbq %[b1], %[t1]\n\tsbbq %[b2], %[t2]\n\tsbbq %[b3], %[t3]\n\t"
          "sbbq %[under], %[under]"
          : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [under] "=&r"(under)
          : [b0] "rm"(b.word[0]), [b1] "rm"(b.word[1]), [b2] "rm"(b.word[2]), [b3] "rm"(b.word[3])
          : "cc");
  *mask = under;
  return {{t0, t1, t2, t3}};
}
CW_INLINE Words<6> Difference(const Words<6>& a, const Words<6>& b, u64* mask) {
  u64 t0 = a.word[0], t1 = a.word[1], t2 = a.word[2];
  u64 t3 = a.word[3], t4 = a.word[4], t5 = a.word[5], under;
  __asm__("subq %[b0], %[t0]\n\tsbbq %[b1], %[t1]\n\tsbbq %[b2], %[t2]\n\t"
          "sbbq %[b3], %[t3]\n\tsbbq %[b4], %[t4]\n\tsbbq %[b5], %[t5]\n\t"
          "sbbq %[under], %[under]"
          : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4),
            [t5] "+&r"(t5), [under] "=&r"(under)
          : [b0] "rm"(b.word[0]), [b1] "rm"(b.word[1]), [b2] "rm"(b.word[2]),
            [b3] "rm"(b.word[3]), [b4] "rm"(b.word[4]), [b5] "rm"(b.word[5])
          : "cc");
  *mask = under;
  return {{t0, t1, t2, t3, t4, t5}};
}

#elif !defined(CW_HAS_PTX)

template <class Prime, u32 N>
CW_INLINE Words<N> Reduce(const Words<N>& a) {
  return ReduceOnce(a, Prime::kModulus);
}
template <u32 N>
CW_INLINE Words<N> Plus(const Words<N>& a, const Words<N>& b) {
  u64 carry = 0;
  return AddWords(a, b, &carry);
}
template <u32 N>
CW_INLINE Words<N> Difference(const Words<N>& a, const Words<N>& b, u64* mask) {
  u64 borrow = 0;
  const Words<N> difference = SubWords(a, b, &borrow);
  *mask = 0 - borrow;
  return difference;
}

#endif

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_CHAINS_H_
