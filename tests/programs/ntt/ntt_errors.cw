; A power of two, tables and moduli that fit, a permutation that is one.
%perm = host_to_device i64[4] {0, 2, 1, 3}
%bad = host_to_device i64[4] {0, 2, 1, 1}
%q = host_to_device i64[2] {17, 97}
%zero = host_to_device i64[2] {17, 0}
%psi = host_to_device i64[2, 4] iota
%narrow = host_to_device i32[2, 4] iota
%a = host_to_device i64[1, 4, 1, 2] iota
%three = host_to_device i64[1, 3, 1, 2] iota
%flat = host_to_device i64[8] iota
%o = empty [1, 4, 1, 2], i64
%e1 = ntt %three, -3, %perm, none, %q, none, none, %psi, %o, false, false
%e2 = ntt %flat, -3, %perm, none, %q, none, none, %psi, %o, false, false
%e3 = ntt %a, -3, %bad, none, %q, none, none, %psi, %o, false, false
%e4 = ntt %a, -3, %perm, none, %zero, none, none, %psi, %o, false, false
%e5 = ntt %a, -2, %perm, none, %q, none, none, %psi, %o, false, false
%e6 = ntt %a, -3, %perm, none, %q, none, none, %narrow, %o, false, false
%e7 = ntt %a, -3, %perm, none, %q, none, none, %psi, %o, true, false
%e8 = ntt %a, -3, %perm, none, %q, none, none, %psi, %psi, false, false
%e9 = ntt %a, -3, %perm, none, %q, none, none, %psi, %o
free %perm
free %bad
free %q
free %zero
free %narrow
free %a
free %three
free %flat
free %o

; warning: leak: step 4: host_to_device (%psi): expected a free of the tensor, got none
; error: transform-length: step 10: ntt: `a` (%three): expected a power of two, got 3
; error: shape: step 11: ntt: `a` (%flat): expected 4 axes, got [8]
; error: permutation: step 12: ntt: `perm` (%bad): expected a permutation of the numbers below 4, got 1 twice
; error: modulus: step 13: ntt: `q` (%zero): expected a modulus from 2 to 2^62 - 1, got 0
; error: axis: step 14: ntt: `axis`: expected -3 or -1, got -2
; error: dtype: step 15: ntt: `psi` (%narrow): expected i64, got i32; all operands of this op have the same dtype
; error: shape: step 16: ntt: `a` (%a): expected size 1 along the moduli to tile, got [1, 4, 1, 2]
; error: shape: step 17: ntt: `out` (%psi): expected i64[1, 4, 1, 2], got i64[2, 4]
; error: aliasing: step 17: ntt: `psi` (%psi): expected none of the elements of `out`, got some of the elements of `out`; write into another tensor
; error: argument-count: step 18: ntt: expected 10 or 11 arguments, got 9; in order: a, perm, perm_pairs, q, log2q, mu, psi, out, tile, skip_perm; or a, axis, perm, perm_pairs, q, log2q, mu, psi, out, tile, skip_perm
