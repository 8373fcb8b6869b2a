// Tables of transforms, and sizes of what kernels of polynomials need.
#include "kernels/poly/derived.h"
#include "kernels/poly/ntt_prepare.h"

namespace cw {
namespace {

template <class F>
uint64_t TableBytes(const cw_launch* launch, bool columns) {
  const NttShape shape(launch->params);
  const uint64_t length = columns ? shape.n1 : shape.n2;
  const uint64_t constants = length / 2 + 1 + (shape.shifted ? length : 0);
  return constants * kConstantBytes<F> + (columns ? 2 * shape.n2 * sizeof(F) : 0);
}

}  // namespace
}  // namespace cw

#define CW_TABLES(field, F)                                                              \
  uint64_t cw_ntt_columns_scratch_##field(const cw_launch* l) {                          \
    return cw::NttShape(l->params).n1 * cw::kVectorBytes<cw::F>;                         \
  }                                                                                      \
  uint64_t cw_ntt_rows_scratch_##field(const cw_launch* l) {                             \
    return cw::NttShape(l->params).n2 * cw::kVectorBytes<cw::F>;                         \
  }                                                                                      \
  uint64_t cw_ntt_short_scratch_##field(const cw_launch* l) {                            \
    return cw::NttShape(l->params).n1 * sizeof(cw::F);                                   \
  }                                                                                      \
  uint64_t cw_ntt_columns_bytes_##field(const cw_launch* l) {                            \
    return cw::TableBytes<cw::F>(l, true);                                               \
  }                                                                                      \
  uint64_t cw_ntt_rows_bytes_##field(const cw_launch* l) {                               \
    return cw::TableBytes<cw::F>(l, false);                                              \
  }                                                                                      \
  uint64_t cw_ntt_short_bytes_##field(const cw_launch* l) {                              \
    return 3 * cw::NttShape(l->params).n1 * sizeof(cw::F);                               \
  }                                                                                      \
  void cw_ntt_columns_prepare_##field(const cw_launch* l, void* p) {                     \
    cw::PrepareColumns<cw::PlainForm<cw::F>>(*l, p);                                     \
  }                                                                                      \
  void cw_ntt_rows_prepare_##field(const cw_launch* l, void* p) {                        \
    cw::PrepareRows<cw::PlainForm<cw::F>>(*l, p);                                        \
  }                                                                                      \
  void cw_ntt_short_prepare_##field(const cw_launch* l, void* p) {                       \
    cw::PrepareShort<cw::F>(*l, p);                                                      \
  }
#define CW_TABLES52(field, Form)                                                         \
  void cw_ntt_columns_prepare52_##field(const cw_launch* l, void* p) {                   \
    cw::PrepareColumns<cw::Form>(*l, p);                                                 \
  }                                                                                      \
  void cw_ntt_rows_prepare52_##field(const cw_launch* l, void* p) {                      \
    cw::PrepareRows<cw::Form>(*l, p);                                                    \
  }

namespace cw {
namespace {
using Bn254FrForm = Form52<Bn254FrPrime>;
using Bls381FrForm = Form52<Bls381FrPrime>;
using GoldilocksForm = PlainForm<Goldilocks>;
using BabyBearForm = PlainForm<BabyBear>;
}  // namespace
}  // namespace cw

extern "C" {
CW_TABLES(bn254_fr, Bn254Fr)
CW_TABLES(bls12_381_fr, Bls381Fr)
CW_TABLES(goldilocks, Goldilocks)
CW_TABLES(babybear, BabyBear)
CW_TABLES52(bn254_fr, Bn254FrForm)
CW_TABLES52(bls12_381_fr, Bls381FrForm)
CW_TABLES52(goldilocks, GoldilocksForm)
CW_TABLES52(babybear, BabyBearForm)
uint64_t cw_interpolate_scratch_4(const cw_launch* l) { return 12 * l->params[0]; }
uint64_t cw_interpolate_scratch_8(const cw_launch* l) { return 24 * l->params[0]; }
uint64_t cw_interpolate_scratch_32(const cw_launch* l) { return 96 * l->params[0]; }
uint64_t cw_interpolate_scratch_48(const cw_launch* l) { return 144 * l->params[0]; }
}
