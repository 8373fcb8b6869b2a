// where: one of two elements by a condition. Elements are moved as bytes.
#ifndef CLOAKWORK_KERNELS_ELEMENTWISE_WHERE_H_
#define CLOAKWORK_KERNELS_ELEMENTWISE_WHERE_H_

#include "kernels/elementwise/loops.h"

namespace cw {
namespace {

template <class T>
void WhereCore(void* out_, const void* const* in, u64 count, u32 scalars) {
  T* out = static_cast<T*>(out_);
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const Bool* condition = static_cast<const Bool*>(in[2]);
  const T x = *a, y = *b;
  switch (scalars) {
    case 0:
      CW_INDEPENDENT
      for (u64 i = 0; i < count; ++i) out[i] = condition[i].bit != 0 ? a[i] : b[i];
      break;
    case 1:
      CW_INDEPENDENT
      for (u64 i = 0; i < count; ++i) out[i] = condition[i].bit != 0 ? x : b[i];
      break;
    case 2:
      CW_INDEPENDENT
      for (u64 i = 0; i < count; ++i) out[i] = condition[i].bit != 0 ? a[i] : y;
      break;
    default:
      CW_INDEPENDENT
      for (u64 i = 0; i < count; ++i) out[i] = condition[i].bit != 0 ? x : y;
  }
}

// Operands: out, a, b, condition.
template <class V, class In, class Out>
void Where(const cw_launch& launch, u64 begin, u64 end, void*) {
  using T = decltype(Out::bits);
  static constexpr Elementwise kRow = {WhereCore<T>, 3, sizeof(T), {sizeof(T), sizeof(T), 1}};
  Walk<3>(launch, begin, end, kRow);
}

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_ELEMENTWISE_WHERE_H_
