// The arithmetic for a limb, by the instruction set that a file is compiled for.
#ifndef CLOAKWORK_KERNELS_NTT_ARITHMETICS_H_
#define CLOAKWORK_KERNELS_NTT_ARITHMETICS_H_

#include "kernels/ntt/harvey.h"
#include "kernels/simd/u64x1.h"
#if defined(__AVX512IFMA__)
#include "kernels/ntt/ifma.h"
#elif defined(__AVX512DQ__)
#include "kernels/ntt/binary64.h"
#include "kernels/simd/f64x8.h"
#elif defined(__AVX2__)
#include "kernels/ntt/binary64.h"
#include "kernels/simd/f64x4.h"
#endif

namespace cw {
namespace {

// Calls body(arithmetic) with the one that reads the limb's twiddles.
template <class V, class Body>
CW_INLINE void WithArithmetic(const NttLimb& limb, const Body& body) {
  const u64 q = limb.q;
#if defined(__AVX512IFMA__)
  if (limb.form != TwiddleForm::kWord52) return body(Harvey<IfmaProduct>(q));
  if (q < kNarrowLimit / 4) return body(Ifma<4>(q));
  if (q < kNarrowLimit / 2) return body(Ifma<2>(q));
  body(Ifma<1>(q));
#else
#if defined(__AVX2__)
  if (limb.form == TwiddleForm::kBinary64) return body(Binary64<V>(q));
#endif
  body(Harvey<ShoupProduct<V>>(q));
#endif
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_NTT_ARITHMETICS_H_
