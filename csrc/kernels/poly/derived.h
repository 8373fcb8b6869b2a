// Tables prepared for transforms over fields, and scratch memory of polynomial kernels.
#ifndef CLOAKWORK_KERNELS_POLY_DERIVED_H_
#define CLOAKWORK_KERNELS_POLY_DERIVED_H_

#include "kernels/derived.h"

#define CW_POLY_SIZES(field, F)                                                 \
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
CW_EACH_LARGE_TRANSFORM(CW_POLY_SIZES)
CW_EACH_SMALL_TRANSFORM(CW_POLY_SIZES)
#define CW_INTERPOLATE_SIZE(field, F) \
  uint64_t cw_interpolate_scratch_##field(const cw_launch* launch);
CW_EACH_FIELD(CW_INTERPOLATE_SIZE)
#undef CW_INTERPOLATE_SIZE
}
#undef CW_POLY_SIZES

namespace cw {
namespace {

// The coset's shift.
constexpr uint32_t kNttShift = 1u << 2;

#define CW_NTT_TABLES(field, F)                                                             \
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
CW_EACH_LARGE_TRANSFORM(CW_NTT_TABLES)
CW_EACH_SMALL_TRANSFORM(CW_NTT_TABLES)
#undef CW_NTT_TABLES
#define CW_THREE(field, F) \
  constexpr Derived kThree_##field = {0, cw_interpolate_scratch_##field, nullptr, nullptr};
CW_EACH_FIELD(CW_THREE)
#undef CW_THREE

}  // namespace
}  // namespace cw

#endif  // CLOAKWORK_KERNELS_POLY_DERIVED_H_
