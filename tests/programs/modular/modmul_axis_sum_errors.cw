; Shapes fit, the permutation is one, the axis is -1 or -3, flags are 0 or 1; hints must exist.
%a = host_to_device i64[1, 2, 2, 4] iota
%b = host_to_device i64[2, 2, 4] iota
%q = host_to_device i64[2] {17, 13}
%perm = host_to_device i64[4] {0, 2, 2, 3}
%o = empty [1, 2, 4], i64
%e1 = modmul_axis_sum %a, %a, %q, none, none, none, %o, false
%e2 = modmul_axis_sum %a, %b, %q, none, none, %perm, %o, true
%e3 = modmul_axis_sum %a, %b, %q, none, none, none, %o, true
%e4 = modmul_axis_sum %a, %b, %q, none, none, none, %o, false, -2
%e5 = modmul_axis_sum %a, %b, %q, none, none, none, %o, false, 3
%e6 = modmul_axis_sum %a, %b, %q, none, none, none, %o, 2
%e7 = modmul_axis_sum %a, %b, %q, %lost, none, %perm, %o, false
%e8 = modmul_axis_sum %a, %b, %q, none, none, %perm, %o
free %a
free %b
free %q
free %perm
free %o

; error: shape: step 5: modmul_axis_sum: `b` (%a): expected shape [2, 2, 4], got [1, 2, 2, 4]
; error: permutation: step 6: modmul_axis_sum: `perm` (%perm): expected a permutation of the numbers below 4, got 2 twice
; error: argument-type: step 7: modmul_axis_sum: `perm`: expected a permutation, got none; `apply_perm` is set
; error: axis: step 8: modmul_axis_sum: `axis`: expected -3 or -1, got -2
; error: range: step 9: modmul_axis_sum: `axis`: expected an integer from -3 to -1, got 3
; error: range: step 10: modmul_axis_sum: `apply_perm`: expected an integer from 0 to 1, got 2
; error: undefined-name: step 11: modmul_axis_sum: `log2q` (%lost): expected a tensor that is defined before, got an undefined tensor; upload or allocate it first, or correct the name
; warning: result-name: step 11: modmul_axis_sum: `result` (%e7, %o): expected %o, got %e7; both names now refer to the tensor that was written
; warning: leak: step 11: modmul_axis_sum (%e7): expected a free of the tensor, got none
; error: argument-count: step 12: modmul_axis_sum: expected 8 or 9 arguments, got 7; in order: a, b, q, log2q, mu, perm, out, apply_perm; or a, b, q, log2q, mu, perm, out, apply_perm, axis
