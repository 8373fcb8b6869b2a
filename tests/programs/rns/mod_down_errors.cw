; Limbs that are dropped and limbs that stay, with constants for each.
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
%o = empty [1, 4, 2], i64
%e1 = mod_down %wide, %q, %t, %t, none, %one, %one, %hat, none, %o
%e2 = mod_down %wide, %q, %t, %t, none, %two, %one, %down, none, %o
%e3 = mod_down %wide, %q, %t, %t, none, %one, %one, %down, %one, %o
%e4 = mod_down %wide, %two, %t, %t, none, %one, %one, %down, none, %o
%e5 = mod_down %wide, %q, %t, %t, %bad, %one, %one, %down, none, %o
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

; error: shape: step 12: mod_down: `hat` (%hat): expected [K, k] with K + k = 3, the limbs of `a`, got [2, 3]
; error: shape: step 13: mod_down: `scale` (%two): expected shape [1], got [2]
; error: shape: step 14: mod_down: `inverse` (%one): expected shape [2], got [1]
; error: shape: step 15: mod_down: `q` (%two): expected shape [3], got [2]
; error: permutation: step 16: mod_down: `perm` (%bad): expected a permutation of the numbers below 4, got 1 twice
