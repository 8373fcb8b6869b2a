; A key of the polynomials' degree, moduli and digits; a special modulus at least.
%a = host_to_device i64[1, 4, 2] iota
%q = host_to_device i64[3] {13, 17, 97}
%t = host_to_device i64[3, 4] iota
%two = host_to_device i64[2] iota
%one = host_to_device i64[1] iota
%hat = host_to_device i64[2, 3] iota
%down = host_to_device i64[1, 2] iota
%wide = host_to_device i64[1, 4, 3] iota
%odd = host_to_device i64[1, 3, 2] iota
%narrow = host_to_device i32[3] {13, 17, 97}
%bad = host_to_device i64[4] {0, 1, 1, 3}
%key = host_to_device i64[2, 1, 4, 3] iota
%o = empty [1, 2, 4, 2], i64
%e1 = hybrid_key_switch %a, %key, %two, %t, %t, none, %q, %q, %hat, %down, 2, none, %o
%e2 = hybrid_key_switch %a, %key, %q, %t, %t, none, %two, %q, %hat, %down, 2, none, %o
%e3 = hybrid_key_switch %a, %key, %q, %t, %t, none, %q, %q, %down, %down, 2, none, %o
%e4 = hybrid_key_switch %a, %key, %q, %t, %t, none, %q, %q, %hat, %down, 1, none, %o
%e5 = hybrid_key_switch %a, %key, %q, %t, %t, none, %q, %q, %hat, %down, 2, %key, %o
%e6 = hybrid_key_switch %a, %key, %q, %t, %t, %bad, %q, %q, %hat, %down, 2, none, %o
free %key
free %o
free %a
free %q
free %t
free %two
free %one
free %hat
free %down
free %wide
free %odd
free %narrow
free %bad

; error: shape: step 13: hybrid_key_switch: `q` (%two): expected moduli for every limb of `a`, and special ones before them, got [2]
; error: shape: step 14: hybrid_key_switch: `scale` (%two): expected shape [3], got [2]
; error: shape: step 15: hybrid_key_switch: `up_hat` (%down): expected shape [2, 3], got [1, 2]
; error: shape: step 16: hybrid_key_switch: `key` (%key): expected shape [2, 2, 4, 3], got [2, 1, 4, 3]
; error: shape: step 17: hybrid_key_switch: `addend` (%key): expected shape [1, 2, 4, 2], got [2, 1, 4, 3]
; error: permutation: step 18: hybrid_key_switch: `perm` (%bad): expected a permutation of the numbers below 4, got 1 twice
