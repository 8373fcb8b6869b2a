// Inverses of elements of 4 and 6 words by division steps: D. J. Bernstein and B.-Y. Yang, Fast
// constant-time gcd computation and modular inversion, CHES 2019. Here time depends on the element.
// A step maps (d, f, g), f odd, to (1 - d, g, (g - f) / 2) if d > 0 and g is odd, else to (1 + d,
// f, (g + (g mod 2) f) / 2). 62 steps depend on the lowest words alone; their product, a matrix
// over 2^62, is then applied to the whole numbers.
#ifndef CLOAKWORK_KERNELS_FIELD_DIVSTEPS_H_
#define CLOAKWORK_KERNELS_FIELD_DIVSTEPS_H_

#include "kernels/field/primes.h"

namespace cw {
namespace {

constexpr u64 kMask62 = ((u64)1 << 62) - 1;

// sum_i limb[i] 2^(62 i): limbs are in [0, 2^62), the highest of either sign.
template <u32 L>
struct Limbs62 {
  i64 limb[L];
};

template <u32 L, u32 N>
constexpr Limbs62<L> Cut62(const Words<N>& a) {
  Limbs62<L> r = {};
  for (u32 i = 0; i < L; ++i) {
    const u32 at = 62 * i / 64, offset = 62 * i % 64;
    u64 bits = at < N ? a.word[at] >> offset : 0;
    if (offset > 2 && at + 1 < N) bits |= a.word[at + 1] << (64 - offset);
    r.limb[i] = (i64)(bits & kMask62);
  }
  return r;
}

// 2^62 times the map of 62 steps on (f, g): (u f + v g, q f + r g); |u| + |v| and |q| + |r| are at
// most 2^62.
struct StepMatrix {
  i64 u, v, q, r;
};

// 62 steps from the lowest words of f and g; returns d.
inline i64 DivisionSteps(i64 d, u64 f, u64 g, StepMatrix* matrix) {
  u64 u = 1, v = 0, q = 0, r = 1;
  for (u32 left = 62;;) {
    const u32 zeros = (u32)__builtin_ctzll(g | (u64)1 << left);
    g >>= zeros;
    u <<= zeros;
    v <<= zeros;
    d += zeros;
    left -= zeros;
    if (left == 0) break;
    if (d > 0) {
      d = -d;
      const u64 f_before = f, u_before = u, v_before = v;
      f = g, g = 0 - f_before;
      u = q, q = 0 - u_before;
      v = r, r = 0 - v_before;
    }
    g += f;
    q += u;
    r += v;
  }
  *matrix = {(i64)u, (i64)v, (i64)q, (i64)r};
  return d;
}

// (f, g) = matrix (f, g) / 2^62, which is exact.
template <u32 L>
CW_INLINE void ApplySteps(const StepMatrix& m, Limbs62<L>* f, Limbs62<L>* g) {
  i128 a = 0, b = 0;
  for (u32 i = 0; i < L; ++i) {
    const i64 x = f->limb[i], y = g->limb[i];
    a += (i128)m.u * x + (i128)m.v * y;
    b += (i128)m.q * x + (i128)m.r * y;
    if (i > 0) {
      f->limb[i - 1] = (i64)((u64)a & kMask62);
      g->limb[i - 1] = (i64)((u64)b & kMask62);
    }
    a >>= 62;
    b >>= 62;
  }
  f->limb[L - 1] = (i64)a;
  g->limb[L - 1] = (i64)b;
}

// The same modulo p, for numbers in (-2 p, p): a multiple of p makes the division exact. With p
// added to each negative operand both are in (-p, p), so that the sum is in (-2^62 p, 2^62 p); at
// most 2^62 - 1 times p is then subtracted. inverse: p^-1 mod 2^62.
template <u32 L>
CW_INLINE void ApplyStepsModulo(const StepMatrix& m, const Limbs62<L>& p, u64 inverse,
                                Limbs62<L>* d, Limbs62<L>* e) {
  const i64 d_sign = d->limb[L - 1] >> 63, e_sign = e->limb[L - 1] >> 63;
  i64 k = (m.u & d_sign) + (m.v & e_sign), l = (m.q & d_sign) + (m.r & e_sign);
  const u64 x0 = (u64)d->limb[0], y0 = (u64)e->limb[0];
  k -= (i64)((inverse * ((u64)m.u * x0 + (u64)m.v * y0) + (u64)k) & kMask62);
  l -= (i64)((inverse * ((u64)m.q * x0 + (u64)m.r * y0) + (u64)l) & kMask62);
  i128 a = 0, b = 0;
  for (u32 i = 0; i < L; ++i) {
    const i64 x = d->limb[i], y = e->limb[i];
    a += (i128)m.u * x + (i128)m.v * y + (i128)k * p.limb[i];
    b += (i128)m.q * x + (i128)m.r * y + (i128)l * p.limb[i];
    if (i > 0) {
      d->limb[i - 1] = (i64)((u64)a & kMask62);
      e->limb[i - 1] = (i64)((u64)b & kMask62);
    }
    a >>= 62;
    b >>= 62;
  }
  d->limb[L - 1] = (i64)a;
  e->limb[L - 1] = (i64)b;
}

// sign a + k p for sign 1 or -1.
template <u32 L>
CW_INLINE void SignedPlus(i64 sign, i64 k, const Limbs62<L>& p, Limbs62<L>* a) {
  i64 carry = 0;
  for (u32 i = 0; i < L; ++i) {
    carry += sign * a->limb[i] + k * p.limb[i];
    a->limb[i] = i + 1 < L ? (i64)((u64)carry & kMask62) : carry;
    carry >>= 62;
  }
}

// factor / a mod p, in [0, p); 0 for a = 0. a, factor in [0, p).
template <class Prime, u32 N>
__attribute__((noinline)) Words<N> DivideBySteps(const Words<N>& factor, const Words<N>& a) {
  constexpr u32 L = N == 4 ? 5 : 7;
  static_assert(62 * L > 64 * N + 1, "numbers of both signs fit");
  constexpr Limbs62<L> p = Cut62<L>(Prime::kModulus);
  constexpr u64 inverse = 0 - Prime::template kInverse64<N>;
  // d a = f factor and e a = g factor modulo p.
  Limbs62<L> f = p, g = Cut62<L>(a), d = {}, e = Cut62<L>(factor);
  const auto is_zero = [&] {
    i64 bits = 0;
    for (u32 i = 0; i < L; ++i) bits |= g.limb[i];
    return bits == 0;
  };
  for (i64 steps = 1; !is_zero();) {
    StepMatrix matrix;
    const u64 low_f = (u64)f.limb[0] | (u64)f.limb[1] << 62;
    const u64 low_g = (u64)g.limb[0] | (u64)g.limb[1] << 62;
    steps = DivisionSteps(steps, low_f, low_g, &matrix);
    ApplyStepsModulo(matrix, p, inverse, &d, &e);
    ApplySteps(matrix, &f, &g);
  }
  // f is 1 or -1, or a multiple of p if a is 0.
  SignedPlus(1, d.limb[L - 1] < 0 ? 1 : 0, p, &d);
  SignedPlus(f.limb[L - 1] < 0 ? -1 : 1, 0, p, &d);
  SignedPlus(1, d.limb[L - 1] < 0 ? 1 : 0, p, &d);
  Words<N> result = {};
  for (u32 i = 0; i < L; ++i) {
    const u32 at = 62 * i / 64, offset = 62 * i % 64;
    if (at < N) result.word[at] |= (u64)d.limb[i] << offset;
    if (offset > 2 && at + 1 < N) result.word[at + 1] |= (u64)d.limb[i] >> (64 - offset);
  }
  return result;
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_FIELD_DIVSTEPS_H_
