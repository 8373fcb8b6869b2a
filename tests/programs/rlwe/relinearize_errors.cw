; Three parts go in, and a key of two polynomials.
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
%key = host_to_device i64[1, 1, 4, 3] iota
%three = host_to_device i64[1, 3, 4, 2] iota
%o = empty [1, 2, 4, 2], i64
%e1 = relinearize %key, %key, %q, %t, %t, none, %q, %q, %hat, %down, 2, %o
%e2 = relinearize %three, %key, %q, %t, %t, none, %q, %q, %hat, %down, 2, %o
free %key
free %three
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

; error: shape: step 14: relinearize: `a` (%key): expected shape [1, 3, 4, 3], got [1, 1, 4, 3]
; error: shape: step 15: relinearize: `key` (%key): expected two polynomials, got [1, 1, 4, 3]
