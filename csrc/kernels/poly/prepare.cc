// Tables of transforms, and sizes of prepared data of polynomial kernels.
#include "kernels/poly/derived.h"
#include "kernels/poly/ntt_prepare.h"

namespace cw {
namespace {

template <class F>
uint64_t TableBytes(const cw_launch* launch, bool columns) {
  const NttShape shape(launch->params);
  const uint64_t length = columns ? shape.n1 : shape.n2;
  const uint64_t roots = (length / 2 + 1) * kRootBytes<F>;
  const uint64_t scales = shape.shifted ? length * kConstantBytes<F> : 0;
  return roots + scales + (columns ? 2 * shape.n2 * sizeof(F) : 0);
}

}  // namespace
}  // namespace cw

#define CW_TABLES(field, F) \
  uint64_t cw_ntt_columns_scratch_##field(const cw_launch* l) { \
    return cw::NttShape(l->params).n1 * cw::kVectorBytes<cw::F>; \
  } \
  uint64_t cw_ntt_rows_scratch_##field(const cw_launch* l) { \
    return cw::NttShape(l->params).n2 * cw::kVectorBytes<cw::F>; \
  } \
  uint64_t cw_ntt_short_scratch_##field(const cw_launch* l) { \
    return cw::NttShape(l->params).n1 * sizeof(cw::F); \
  } \
  uint64_t cw_ntt_columns_bytes_##field(const cw_launch* l) { \
    return cw::TableBytes<cw::F>(l, true); \
  } \
  uint64_t cw_ntt_rows_bytes_##field(const cw_launch* l) { \
    return cw::TableBytes<cw::F>(l, false); \
  } \
  uint64_t cw_ntt_short_bytes_##field(const cw_launch* l) { \
    return 3 * cw::NttShape(l->params).n1 * sizeof(cw::F); \
  } \
  void cw_ntt_columns_prepare_##field(const cw_launch* l, void* p) { \
    cw::PrepareColumns<cw::PlainForm<cw::F>>(*l, p); \
  } \
  void cw_ntt_rows_prepare_##field(const cw_launch* l, void* p) { \
    cw::PrepareRows<cw::PlainForm<cw::F>>(*l, p); \
  } \
  void cw_ntt_short_prepare_##field(const cw_launch* l, void* p) { \
    cw::PrepareShort<cw::F>(*l, p); \
  }
#define CW_TABLES52(field, F) \
  void cw_ntt_columns_prepare52_##field(const cw_launch* l, void* p) { \
    cw::PrepareColumns<cw::Form52Of<cw::F>::Type>(*l, p); \
  } \
  void cw_ntt_rows_prepare52_##field(const cw_launch* l, void* p) { \
    cw::PrepareRows<cw::Form52Of<cw::F>::Type>(*l, p); \
  }

namespace cw {
namespace {
// The form of constants in tables for 52-bit arithmetic, if a field has it.
template <class F>
struct Form52Of {
  using Type = PlainForm<F>;
};
template <class P>
struct Form52Of<Fp<P>> {
  using Type = Form52<P>;
};
}  // namespace
}  // namespace cw

extern "C" {
CW_EACH_LARGE_TRANSFORM(CW_TABLES)
CW_EACH_SMALL_TRANSFORM(CW_TABLES)
CW_EACH_LARGE_TRANSFORM(CW_TABLES52)
CW_EACH_SMALL_TRANSFORM(CW_TABLES52)
// Scratch of three polynomials of the length.
#define CW_THREE(field, F) \
  uint64_t cw_interpolate_scratch_##field(const cw_launch* l) { \
    return 3 * sizeof(cw::F) * l->params[0]; \
  }
CW_EACH_FIELD(CW_THREE)
}
