// Launches of kernels as data: what docs/kernels.md says of each, over small spaces.
//
// An operand is `type fill strides`. Types: i and o, those of the row (of operand 1 and of the
// result); b bool, h i16, l i64, u u64, y u8. Fills: e any elements; q moduli; r residues of all
// of these; k words below 2^28; x5 indices below 5; p8 a permutation of 8. `-` alone: no operand.
#ifndef CLOAKWORK_TESTS_PORTABLE_LAUNCHES_H_
#define CLOAKWORK_TESTS_PORTABLE_LAUNCHES_H_

struct Shape {
  const char* kernels;   // names, a space between them
  const char* dims;      // outermost first
  int split;             // how many of them units count
  const char* operands;  // `;` between them
  const char* params;
};

constexpr Shape kShapes[] = {
    // Element by element: neighbours, then strides that no loop can join.
    {"abs acos acosh asin asinh atan atanh bitwise_invert cast ceil conj cos cosh exp expm1 floor "
     "imag isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal "
     "round sign signbit sin sinh sqrt square tan tanh trunc copy",
     "3 5 7", 3, "o e 35 7 1; i e 35 7 1", "0"},
    {"abs bitwise_invert cast ceil conj floor imag isnan log1p negative real reciprocal round sign "
     "sqrt square tanh trunc copy",
     "3 5 7", 3, "o e 1 6 60; i e 0 2 11", "0"},
    {"add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign "
     "divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and "
     "logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract",
     "3 5 7", 3, "o e 35 7 1; i e 35 7 1; i e 35 7 1", "0"},
    {"add bitwise_xor divide equal floor_divide less maximum multiply not_equal remainder subtract",
     "3 5 7", 3, "o e 1 6 60; i e 0 2 11; i e 0 0 0", "0"},
    {"where", "3 5 7", 3, "o e 35 7 1; i e 35 7 1; i e 0 2 11; b e 7 0 1", "0"},
    {"fill", "3 5 7", 3, "o e 70 14 2", "81985529216486895 2271560481"},
    {"gather", "3 5 7", 3, "o e 35 7 1; i e 35 0 1; l x5 35 7 1", "7 5"},
    {"scatter", "3 7", 1, "o e 4 0; i e 7 1; l x4 7 1", "1 4"},
    {"nonzero", "4 5", 0, "o e 0 0; i e 5 1", "2 1 20"},
    // Residues.
    {"modmul modsum", "3 4 2", 3, "o e 8 2 1; i e 8 2 1; i e 0 2 1; i q 0 0 1", ""},
    {"modmul modsum", "2 3 9", 3, "o e 27 9 1; i r 27 9 1; i r 27 9 1; i q 1 0 0", ""},
    {"modmul modsum", "2 3 100", 3, "o e 300 100 1; i r 300 100 1; i r 300 100 1; i q 1 0 0", ""},
    {"modmuladd", "2 3 9", 3, "o e 27 9 1; i r 27 9 1; i r 9 0 1; i e 27 9 1; i q 1 0 0", ""},
    {"mod", "3 4 2", 3, "o e 8 2 1; i e 8 2 1; i q 0 0 1", ""},
    {"modneg", "3 4 2", 3, "o e 8 2 1; i e 8 2 1; i q 0 0 1", ""},
    {"axis_modsum", "3 2 5", 2, "o e 2 1 0; i r 10 1 2; i q 0 1 0", ""},
    {"modmul_axis_sum", "2 2 8 3", 3, "o r 16 8 1 0; i r 48 24 1 8; i r 0 24 1 8; i q 0 1 0 0; -",
     ""},
    {"modmul_axis_sum", "2 2 8 3", 3,
     "o r 16 8 1 0; i r 48 24 1 8; i r 0 24 1 8; i q 0 1 0 0; l p8 0 0 1 0", ""},
    {"modmul_axis_sum", "2 2 64 17", 3,
     "o r 128 64 1 0; i r 2176 1088 1 64; i r 0 1088 1 64; i q 0 1 0 0; l p64 0 0 1 0", ""},
    {"axis_modsum", "3 2 50 40", 3, "o e 100 50 1 0; i r 4000 50 1 100; i q 0 1 0 0", ""},
    {"ntt", "2 2 2 16", 3, "o e 64 32 16 1; i e 64 32 16 1; o q 0 0 1 0; o r 0 0 16 1; -", ""},
    {"ntt", "2 2 2 16", 3, "o e 64 1 2 4; i e 64 1 2 4; o q 0 0 1 0; o r 0 0 16 1; l p16 0 0 0 1",
     ""},
    {"intt", "2 2 2 16", 3,
     "o e 64 32 16 1; i e 64 32 16 1; o q 0 0 1 0; o r 0 0 16 1; l p16 0 0 0 1; o r 0 0 1 0", ""},
    // Rows that GPUs cut into parts.
    {"ntt", "1 1 2 16384", 3,
     "o e 0 0 16384 1; i e 0 0 16384 1; o q 0 0 1 0; o r 0 0 16384 1; -", ""},
    {"ntt", "1 1 2 16384", 3,
     "o e 0 0 1 2; i e 0 0 1 2; o q 0 0 1 0; o r 0 0 16384 1; l p16384 0 0 0 1", ""},
    {"ntt", "1 1 1 131072", 3, "o e 0 0 0 1; i e 0 0 0 1; o q 0 0 1 0; o r 0 0 0 1; -", ""},
    {"intt", "1 1 2 16384", 3,
     "o e 0 0 16384 1; i e 0 0 16384 1; o q 0 0 1 0; o r 0 0 16384 1; -; o r 0 0 1 0", ""},
    {"intt", "1 1 1 131072", 3,
     "o e 0 0 0 1; i e 0 0 0 1; o q 0 0 1 0; o r 0 0 0 1; l p131072 0 0 0 1; o r 0 0 1 0", ""},
    {"g_decomp", "3 5", 2, "o e 20 4; i e 5 1", "7 4 1"},
    {"g_decomp_full_q", "3 5 2", 2, "o e 20 4 0; i e 10 2 1; i q 0 0 1", "7 4 1"},
    {"automorphism", "3 8", 2, "o e 8 1; i e 8 1; l p8 0 1", ""},
    {"base_convert", "5 3 2", 1,
     "o e 1 0 5; i r 1 5 0; i q 0 1 0; i r 0 1 0; i r 0 1 0; i r 0 2 1; i q 0 0 1", ""},
    {"base_convert", "100 17 3", 1,
     "o e 1 0 100; i r 1 100 0; i q 0 1 0; -; i r 0 1 0; i r 0 3 1; i q 0 0 1", ""},
    {"uniform_mod", "3 8", 2, "o e 8 1; u e 16 2; o q 0 1", "1"},
    {"ternary", "3 8", 2, "o e 8 1; u e 8 1", ""},
    {"gaussian", "3 8", 2, "o e 8 1; u e 16 2", "1"},
    // Along axes: what is reduced lies tight, then far apart.
    {"sum prod min max any all count_nonzero", "4 5 150", 2, "o e 5 1 0; i e 750 150 1", "1"},
    {"sum prod min max any all count_nonzero", "6 70", 1, "o e 1 0; i e 1 6", "1"},
    {"argmin argmax", "4 137", 1, "o e 1 0; i e 137 1", "1"},
    {"cumulative_sum cumulative_prod", "4 137", 1, "o e 137 1; i e 137 1", "1"},
    // Long enough, or wide enough, that threads of a GPU share a result.
    {"sum prod min max any all count_nonzero argmin argmax", "9 7", 1, "o e 1 0; i e 7 1", "1"},
    {"sum prod min max any all count_nonzero argmin argmax", "3 5000", 1, "o e 1 0; i e 5000 1",
     "1"},
    {"sum prod min max any all count_nonzero argmin argmax", "1 70001", 1, "o e 1 0; i e 0 1",
     "1"},
    {"sum prod min max any all count_nonzero argmin argmax", "40 300", 1, "o e 1 0; i e 1 41",
     "1"},
    {"sum prod min max any all count_nonzero", "2 40 50", 1, "o e 1 0 0; i e 4100 101 2", "2"},
    {"sum prod min max any all count_nonzero", "33 9 50", 1, "o e 1 0 0; i e 1 2000 40", "2"},
    {"cumulative_sum cumulative_prod", "3 5000", 1, "o e 5000 1; i e 5000 1", "1"},
    {"cumulative_sum cumulative_prod", "2 2100", 1, "o e 1 2; i e 2200 1", "1"},
    {"sort argsort", "4 137", 1, "o e 137 1; i e 137 1", "0"},
    {"sort argsort", "4 137", 1, "o e 1 4; i e 1 4", "1"},
    // By one thread, by one block, by many blocks; of the last one argsort takes a block a line.
    {"sort argsort", "5 20", 1, "o e 20 1; i e 20 1", "1"},
    {"sort argsort", "3 5000", 1, "o e 1 3; i e 5000 1", "0"},
    {"sort argsort", "2 70000", 1, "o e 70000 1; i e 70000 1", "1"},
    {"searchsorted", "5 7", 2, "o e 7 1; i e 7 1; i e 0 0", "90 1 0"},
    {"arange", "9", 1, "o e 1; i e 0; i e 0", ""},
    {"philox_uniform philox_normal", "19", 1, "o e 1; u e 0", "1"},
    {"matmul", "2 1 1 100", 3, "o e 30 0 0 0; i e 35 0 0 0; i e 42 0 0 0",
     "5 6 7 8 192 64 7 1 6 1 6 1 0"},
    {"matmul_pack", "1 1 1 100", 3, "o e 0 0 0 0; i e 0 0 0 0", "5 6 2 8 192 64 2 1 6 1 6 1 1"},
    {"matvec", "2 1 100", 2, "o e 5 0 0; i e 35 0 0; i e 7 0 0", "5 7 64 7 1 1 1"},
    // Fields, polynomials, points, hashes.
    {"from_canonical", "9", 1, "o e 1; u k 6", "1"},
    {"to_canonical", "9", 1, "u e 24; i e 1", "1"},
    {"field_pow", "3 5", 2, "o e 5 1; i e 5 1; l k 0 1", "0"},
    {"field_ntt_short", "2 100", 1, "o e 16 0; i e 16 0; -", "4 0 1 0 1"},
    {"field_ntt_short", "2 100", 1, "o e 16 0; i e 16 0; o e 0 0", "4 0 1 7 1"},
    {"poseidon", "3 2", 1, "o e 1 0; i e 2 1", "3"},
    {"reduce_uniform", "5", 1, "o e 1; y e 64", "1"},
    {"uniform_field", "5", 1, "o e 1; y e 0", "1 7"},
    {"absorb", "3", 0, "y e 0; i e 1; y e 0", "216 1 1 1"},
    {"squeeze", "1", 0, "y e 0; y e 0", "216 1 1"},
    {"field_ntt_columns field_ntt_rows", "1 1 100", 2, "o e 0 0 0; i e 0 0 0; -", "4 4 1 0"},
    {"field_ntt_columns field_ntt_rows", "1 1 100", 2, "o e 0 0 0; i e 0 0 0; o e 0 0 0",
     "4 4 1 7"},
    {"field_ntt_columns", "1 4 100", 2, "o e 0 1024 41; i e 0 16 41; o e 0 0 0", "6 6 1 7"},
    {"field_ntt_columns", "1 4 100", 2, "o e 0 1024 41; i e 0 16 41; o e 0 0 0", "6 6 1 4"},
    {"field_ntt_rows", "1 4 100", 2, "o e 0 16 41; i e 0 16 41; o e 0 0 0", "6 6 1 7"},
    {"product_runs", "2 1 100", 2, "o e 8 0 0; i e 400 0 0", "400 1"},
    {"horner_runs", "2 1 100", 2, "o e 8 0 0; i e 400 0 0; i e 0 0 0", "400 1"},
    {"horner_join kate_carries scan_carries", "2 100", 1, "o e 8 0; i e 8 0; i e 0 0", "4"},
    {"kate_runs", "2 1 100", 2, "o e 400 0 0; i e 400 0 0; i e 0 0 0; i e 8 0 0", "400 1 1 400"},
    {"scan_runs", "2 1 100", 2, "o e 400 0 0; i e 400 0 0; i e 8 0 0", "400 1 1 400"},
    {"powers", "4 100", 1, "o e 128 0; i e 0 0; -", "400 1"},
    {"interpolate", "2 100", 1, "o e 5 0; i e 5 0; i e 5 0", "5 1 1 1"},
    {"sparse_rows", "4 100", 1, "o e 1 0; l x1 1 0; l x5 1 0; o e 1 0; o e 1 0", "1 1 1 1"},
    {"canonical_runs", "1 100", 1, "u e 0 0; i e 0 0; u e 0 0", "50 1"},
    {"merge_runs", "1 100", 1, "u e 0 0; u e 0 0", "48 24 4"},
    {"msm_digits", "1 1 100", 2, "h e 0 0 0; i e 0 0 0; u e 0 0 0", "8 8 5 52 8 1 1"},
    {"msm_windows", "1 3 1 100", 3, "u e 0 48 0 0; i e 0 0 0 0; h x16 0 0 0 0", "8 8 5 1"},
    // Many points of few buckets, all the same, in two chunks: GPUs sum them in another order.
    {"msm_windows", "1 1 2 100", 3, "u e 0 0 48 0; i e 0 0 0 0; h x3 0 0 11000 100",
     "20000 11000 5 0"},
    {"msm_windows", "1 3 1 100", 3, "u e 0 48 0 0; i e 0 0 0 0; h x16 0 1300 0 13",
     "1300 1300 5 0"},
    {"msm_combine", "2 100", 1, "o e 1 0; u k 144 0", "3 1 5"},
    {"curve_mul", "2 2 100", 2, "o e 2 1 0; i e 0 1 0; o e 1 0 0", ""},
    // Checks: the status word may hold an earlier one, of which the least stays.
    {"check_range", "3 5 7", 3, "o e 0 0 0; i e 35 7 1", "-1000 2000"},
    {"check_range", "3 5 7", 3, "o e 0 0 0; i e 1 6 60", "0 1"},
    {"check_lookup_rows", "9", 1, "o e 0; i x5 1", "3"},
    {"check_nonzero", "5 4", 1, "o e 0 0; i x2 4 1", ""},
    {"check_below_prime", "5 4", 1, "o e 0 0; i e 4 1", "4 7 8 9 1000000007"},
    {"check_permutation", "3 8", 1, "o e 0 0; i x8 8 1", "8"},
    {"check_permutation", "3 8", 1, "o e 0 0; i p8 0 1", "8"},
    {"check_coprime", "6", 1, "o e 0; i e 1", ""},
    {"check_distinct", "6 2", 0, "o e 0 0; i x2 2 1", ""},
    {"check_starts", "6", 1, "o e 0; i x5 1", "4"},
    {"check_transcript", "216", 0, "o e 0; i e 1", "100 0"},
};

// Results in a form of the device's own: what another kernel of it makes of them is compared. `=`
// stands for the result, in place of a fill.
struct Reading {
  const char* kernel;
  Shape by;
};
constexpr Reading kReadings[] = {
    {"msm_windows", {"msm_combine", "3 100", 1, "o e 1 0; u = 48 0", "1 1 5"}},
    {"matmul_pack",
     {"matmul", "1 1 1 100", 3, "o e 30 0 0 0; i e 35 0 0 0; i = 0 0 0 0",
      "5 6 2 8 192 64 2 1 6 1 6 1 1"}},
};

#endif  // CLOAKWORK_TESTS_PORTABLE_LAUNCHES_H_
