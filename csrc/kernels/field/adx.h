// Montgomery products of 4 and 6 words with two carry chains: mulx, adcx and adox.
//
// The product is taken word by word and reduced after each word (Koc, Acar and Kaliski, Analyzing
// and Comparing Montgomery Multiplication Algorithms, 1996, CIOS). The highest word of p is below
// 2^63 - 1, so that an intermediate result never needs more than N + 1 words.
#ifndef CLOAKWORK_KERNELS_FIELD_ADX_H_
#define CLOAKWORK_KERNELS_FIELD_ADX_H_

#include "kernels/field/primes.h"

// Every set with AVX-512 has ADX and BMI2.
#if defined(__AVX512F__) && defined(__x86_64__)
#define CW_HAS_ADX 1

namespace cw {
namespace {

// t += a b_i over one chain for low halves and one for high ones; hi receives the highest word.
#define CW_ADX_TERM(j, t)                      \
  "adcx %[hi], %[t" #t "]\n\t"                 \
  "mulx 8*" #j "(%[a]), %[lo], %[hi]\n\t"      \
  "adox %[lo], %[t" #t "]\n\t"
// t = (t + m p) / 2^64 over the same two chains.
#define CW_ADX_FOLD(j, to, from)               \
  "adcx %[t" #from "], %[t" #to "]\n\t"        \
  "mulx 8*" #j "(%[p]), %[lo], %[t" #from "]\n\t" \
  "adox %[lo], %[t" #to "]\n\t"
#define CW_ADX_FIRST                           \
  "xorl %k[lo], %k[lo]\n\t"                    \
  "mulx (%[a]), %[lo], %[hi]\n\t"              \
  "adox %[lo], %[t0]\n\t"
// m = t_0 (-p^-1), and the carry of t_0 + m p_0, whose low word is 0.
#define CW_ADX_QUOTIENT                        \
  "movl $0, %k[lo]\n\t"                        \
  "adcx %[lo], %[hi]\n\t"                      \
  "adox %[lo], %[hi]\n\t"                      \
  "movq %[inverse], %%rdx\n\t"                 \
  "imulq %[t0], %%rdx\n\t"                     \
  "xorl %k[lo], %k[lo]\n\t"                    \
  "mulx (%[p]), %[lo], %[high]\n\t"            \
  "adcx %[t0], %[lo]\n\t"                      \
  "movq %[high], %[t0]\n\t"
#define CW_ADX_LAST(t)                         \
  "movl $0, %k[lo]\n\t"                        \
  "adcx %[lo], %[t" #t "]\n\t"                 \
  "adox %[hi], %[t" #t "]\n\t"

// a b / 2^256 mod p, below 2p, for a below p and b below 2^256.
template <class Prime>
CW_INLINE Words<4> MulAdx(const Words<4>& a, const Words<4>& b) {
  u64 t0 = 0, t1 = 0, t2 = 0, t3 = 0, lo, hi, high;
  for (u32 i = 0; i < 4; ++i) {
    u64 factor = b.word[i];
    __asm__(CW_ADX_FIRST CW_ADX_TERM(1, 1) CW_ADX_TERM(2, 2) CW_ADX_TERM(3, 3) CW_ADX_QUOTIENT
                CW_ADX_FOLD(1, 0, 1) CW_ADX_FOLD(2, 1, 2) CW_ADX_FOLD(3, 2, 3) CW_ADX_LAST(3)
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [lo] "=&r"(lo),
              [hi] "=&r"(hi), [high] "=&r"(high), "+&d"(factor)
            : [a] "r"(a.word), [p] "r"(Prime::kModulus.word), "m"(a), "m"(Prime::kModulus),
              [inverse] "r"(Prime::template kInverse64<4>)
            : "cc");
  }
  return {{t0, t1, t2, t3}};
}

// a b / 2^384 mod p, below 2p, for a below 2^384 and b below p.
template <class Prime>
CW_INLINE Words<6> MulAdx(const Words<6>& a, const Words<6>& b) {
  u64 t0 = 0, t1 = 0, t2 = 0, t3 = 0, t4 = 0, t5 = 0, lo, hi, high;
  for (u32 i = 0; i < 6; ++i) {
    u64 factor = b.word[i];
    __asm__(CW_ADX_FIRST CW_ADX_TERM(1, 1) CW_ADX_TERM(2, 2) CW_ADX_TERM(3, 3) CW_ADX_TERM(4, 4)
                CW_ADX_TERM(5, 5) CW_ADX_QUOTIENT CW_ADX_FOLD(1, 0, 1) CW_ADX_FOLD(2, 1, 2)
                    CW_ADX_FOLD(3, 2, 3) CW_ADX_FOLD(4, 3, 4) CW_ADX_FOLD(5, 4, 5) CW_ADX_LAST(5)
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4),
              [t5] "+&r"(t5), [lo] "=&r"(lo), [hi] "=&r"(hi), [high] "=&r"(high), "+&d"(factor)
            : [a] "r"(a.word), [p] "r"(Prime::kModulus.word), "m"(a), "m"(Prime::kModulus),
              [inverse] "r"(Prime::template kInverse64<6>)
            : "cc");
  }
  return {{t0, t1, t2, t3, t4, t5}};
}

#undef CW_ADX_TERM
#undef CW_ADX_FOLD
#undef CW_ADX_FIRST
#undef CW_ADX_QUOTIENT
#undef CW_ADX_LAST

}  // namespace
}  // namespace cw

#endif
#endif  // CLOAKWORK_KERNELS_FIELD_ADX_H_
