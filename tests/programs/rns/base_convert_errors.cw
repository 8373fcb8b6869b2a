; One constant a limb, one row of weights a limb, moduli in 2 .. 2^62 on both sides.
%a = host_to_device i64[2, 3] iota
%s = host_to_device i64[] {1}
%q = host_to_device i64[3] {5, 7, 11}
%bad = host_to_device i64[3] {5, 7, 1}
%half = host_to_device i64[3] {2, 3, 5}
%two = host_to_device i64[2] {2, 3}
%small = host_to_device i32[3] {2, 3, 5}
%hat = host_to_device i64[3, 2] iota
%p = host_to_device i64[2] {13, 1009}
%zero = host_to_device i64[2] {13, 0}
%o = empty [2, 2], i64
%e1 = base_convert %s, %q, none, %half, %hat, %p, %o
%e2 = base_convert %a, %two, none, %half, %hat, %p, %o
%e3 = base_convert %a, %q, %two, %half, %hat, %p, %o
%e4 = base_convert %a, %q, none, %two, %hat, %p, %o
%e5 = base_convert %a, %q, none, %half, %half, %p, %o
%e6 = base_convert %a, %q, none, %half, %hat, %hat, %o
%e7 = base_convert %a, %q, none, %small, %hat, %p, %o
%e8 = base_convert %a, %bad, none, %half, %hat, %p, %o
%e9 = base_convert %a, %q, none, %half, %hat, %zero, %o
%e10 = base_convert %a, %q, none, %half, %hat, %p, %a
free %a
free %s
free %q
free %bad
free %half
free %two
free %small
free %hat
free %p
free %zero
free %o

; error: shape: step 11: base_convert: `a` (%s): expected one axis or more, got []
; error: shape: step 12: base_convert: `q` (%two): expected shape [3], got [2]
; error: shape: step 13: base_convert: `hat_inv` (%two): expected shape [3], got [2]
; error: shape: step 14: base_convert: `half` (%two): expected shape [3], got [2]
; error: shape: step 15: base_convert: `hat` (%half): expected shape [3, 2], got [3]
; error: shape: step 16: base_convert: `p` (%hat): expected 1 axes, got [3, 2]
; error: dtype: step 17: base_convert: `half` (%small): expected i64, got i32; all operands of this op have the same dtype
; error: modulus: step 18: base_convert: `q` (%bad): expected a modulus from 2 to 2^62 - 1, got 1
; error: modulus: step 19: base_convert: `p` (%zero): expected a modulus from 2 to 2^62 - 1, got 0
; error: shape: step 20: base_convert: `out` (%a): expected i64[2, 2], got i64[2, 3]
; error: aliasing: step 20: base_convert: `a` (%a): expected none of the elements of `out`, got some of the elements of `out`; write into another tensor
