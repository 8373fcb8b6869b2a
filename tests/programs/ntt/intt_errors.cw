; One inverse of the length a modulus; no digits of one byte.
%perm = host_to_device i64[4] {0, 2, 1, 3}
%q = host_to_device i64[2] {17, 97}
%psi = host_to_device i64[2, 4] iota
%n_inv = host_to_device i64[1] {13}
%a = host_to_device i64[1, 4, 1, 2] iota
%d = host_to_device i8[1, 4, 1, 2] fill 1
%o = empty [1, 4, 1, 2], i64
%e1 = intt %a, %perm, none, %q, none, none, %psi, %n_inv, %o, false
%e2 = intt %d, %perm, none, %q, none, none, %psi, %q, %o, false
free %perm
free %q
free %psi
free %n_inv
free %a
free %d
free %o

; error: shape: step 7: intt: `n_inv` (%n_inv): expected shape [2], got [1]
; error: dtype: step 8: intt: `a` (%d): expected i64, got i8; all operands of this op have the same dtype
