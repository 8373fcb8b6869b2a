// Tables prepared for transforms over fields, and the memory that kernels of polynomials need.
#ifndef CLOAKWORK_KERNELS_POLY_DERIVED_H_
#define CLOAKWORK_KERNELS_POLY_DERIVED_H_

#include "kernels/derived.h"

#define CW_POLY_SIZES(field)                                                 \
  uint64_t cw_ntt_columns_scratch_##field(const cw_launch* launch);          \
  uint64_t cw_ntt_rows_scratch_##field(const cw_launch* launch);             \
  uint64_t cw_ntt_short_scratch_##field(const cw_launch* launch);            \
  uint64_t cw_ntt_columns_bytes_##field(const cw_launch* launch);            \
  uint64_t cw_ntt_rows_bytes_##field(const cw_launch* launch);               \
  uint64_t cw_ntt_short_bytes_##field(const cw_launch* launch);              \
  void cw_ntt_columns_prepare_##field(const cw_launch* launch, void* prepared); \
  void cw_ntt_rows_prepare_##field(const cw_launch* launch, void* prepared); \
  void cw_ntt_short_prepare_##field(const cw_launch* launch, void* prepared); \
  void cw_ntt_columns_prepare52_##field(const cw_launch* launch, void* prepared); \
  void cw_ntt_rows_prepare52_##field(const cw_launch* launch, void* prepared);

extern "C" {
CW_POLY_SIZES(bn254_fr)
CW_POLY_SIZES(bls12_381_fr)
CW_POLY_SIZES(goldilocks)
CW_POLY_SIZES(babybear)
uint64_t cw_interpolate_scratch_4(const cw_launch* launch);
uint64_t cw_interpolate_scratch_8(const cw_launch* launch);
uint64_t cw_interpolate_scratch_32(const cw_launch* launch);
uint64_t cw_interpolate_scratch_48(const cw_launch* launch);
}
#undef CW_POLY_SIZES

namespace cw {
namespace {

// The coset's shift.
constexpr uint32_t kNttShift = 1u << 2;

#define CW_NTT_TABLES(field)                                                             \
  constexpr Derived kColumns_##field = {kNttShift,                                       \
                                        cw_ntt_columns_scratch_##field,                  \
                                        cw_ntt_columns_bytes_##field,                    \
                                        cw_ntt_columns_prepare_##field,                  \
                                        0,                                               \
                                        nullptr,                                         \
                                        nullptr,                                         \
                                        cw_ntt_columns_prepare52_##field};               \
  constexpr Derived kRows_##field = {kNttShift,                                          \
                                     cw_ntt_rows_scratch_##field,                        \
                                     cw_ntt_rows_bytes_##field,                          \
                                     cw_ntt_rows_prepare_##field,                        \
                                     0,                                                  \
                                     nullptr,                                            \
                                     nullptr,                                            \
                                     cw_ntt_rows_prepare52_##field};                     \
  constexpr Derived kShort_##field = {kNttShift, cw_ntt_short_scratch_##field,           \
                                      cw_ntt_short_bytes_##field,                        \
                                      cw_ntt_short_prepare_##field};
CW_NTT_TABLES(bn254_fr)
CW_NTT_TABLES(bls12_381_fr)
CW_NTT_TABLES(goldilocks)
CW_NTT_TABLES(babybear)
#undef CW_NTT_TABLES
constexpr Derived kThree4 = {0, cw_interpolate_scratch_4, nullptr, nullptr};
constexpr Derived kThree8 = {0, cw_interpolate_scratch_8, nullptr, nullptr};
constexpr Derived kThree32 = {0, cw_interpolate_scratch_32, nullptr, nullptr};
constexpr Derived kThree48 = {0, cw_interpolate_scratch_48, nullptr, nullptr};

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_DERIVED_H_
