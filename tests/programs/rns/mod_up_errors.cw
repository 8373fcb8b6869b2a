; Moduli for every limb, tables of their number, digits that are not too many.
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
%o = empty [1, 1, 4, 3], i64
%e1 = mod_up %a, %one, %t, %t, none, %two, %two, %hat, 2, %o
%e2 = mod_up %a, %q, %hat, %t, none, %two, %two, %hat, 2, %o
%e3 = mod_up %a, %q, %t, %t, none, %one, %two, %hat, 2, %o
%e4 = mod_up %a, %q, %t, %t, none, %two, %two, %down, 2, %o
%e5 = mod_up %a, %q, %t, %t, none, %two, %two, %hat, 0, %o
%e6 = mod_up %odd, %q, %t, %t, none, %two, %two, %hat, 2, %o
%e7 = mod_up %a, %narrow, %t, %t, none, %two, %two, %hat, 2, %o
%e8 = mod_up %a, %q, %t, %t, %bad, %two, %two, %hat, 2, %o
%e9 = mod_up %a, %q, %t, %t, none, %two, %two, %hat, 1, %o
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

; error: shape: step 12: mod_up: `q` (%one): expected moduli for every limb of `a`, and special ones before them, got [1]
; error: shape: step 13: mod_up: `psi` (%hat): expected shape [3, 4], got [2, 3]
; error: shape: step 14: mod_up: `scale` (%one): expected shape [2], got [1]
; error: shape: step 15: mod_up: `hat` (%down): expected shape [2, 3], got [1, 2]
; error: range: step 16: mod_up: `digit_limbs`: expected an integer from 1 to 16384, got 0
; error: transform-length: step 17: mod_up: `a` (%odd): expected a power of two, got 3
; error: dtype: step 18: mod_up: `q` (%narrow): expected i64, got i32; all operands of this op have the same dtype
; error: permutation: step 19: mod_up: `perm` (%bad): expected a permutation of the numbers below 4, got 1 twice
; error: shape: step 20: mod_up: `out` (%o): expected i64[1, 2, 4, 3], got i64[1, 1, 4, 3]
