; The result has one more axis, as long as there are digits.
%a = host_to_device i64[4] {1, 2, 3, 4}
%f = host_to_device f64[4] fill 1
%o = empty [4, 2], i64
%e1 = apply_g_decomp %a, 3, 3, %o
%e2 = apply_g_decomp %f, 2, 3, %o
%e3 = apply_g_decomp %a, 0, 3, %o
%e4 = apply_g_decomp %a, 2, 0, %o
%s = empty [4, 2], i32
%e5 = apply_g_decomp %a, 2, 3, %s
free %a
free %f
free %o
free %s

; error: shape: step 3: apply_g_decomp: `out` (%o): expected i64[4, 3], got i64[4, 2]
; error: dtype: step 4: apply_g_decomp: `a` (%f): expected i32 or i64, got f64
; error: range: step 5: apply_g_decomp: `g_exp`: expected an integer from 1 to 16384, got 0
; error: range: step 6: apply_g_decomp: `g_base_bits`: expected an integer from 1 to 62, got 0
; error: dtype: step 8: apply_g_decomp: `out` (%s): expected i64[4, 2], got i32[4, 2]
