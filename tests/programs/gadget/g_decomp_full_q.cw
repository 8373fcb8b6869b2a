; Residues become the one number below the product of the moduli, and that its digits; HEAL's
; hints are not needed. A digit of 8 bits wraps in a byte.
%a = host_to_device i64[2, 2, 2] {14, 5, 30, 5, 16, 11, 96, 96}
%q = host_to_device i64[2] {17, 97}
%q_inv = host_to_device i64[2, 2] {1, 10, 40, 1}
%o = empty [2, 3, 2], i64
%o = apply_g_decomp_relative_to_full_q %a, %q, %q_inv, 3, 4, 60, %q, %o
device_to_host %o, none -> i64[2, 3, 2] {8, 5, 14, 0, 3, 0, 0, 0, 7, 6, 6, 0}
%p = empty [2, 2, 2], i8
%p = g_decomp_full_q %a, %q, none, 2, 8, none, none, %p
device_to_host %p, none -> i8[2, 2, 2] {-24, 5, 3, 0, 112, 96, 6, 0}
free %a
free %q
free %q_inv
free %o
free %p

; type %a i64[2, 2, 2]
; type %q i64[2]
; type %q_inv i64[2, 2]
; type %o i64[2, 3, 2]
; type %p i8[2, 2, 2]
