; The negacyclic transform: along axis -3 of [l, m, r, k], along axis -1 of [l, r, k, m], in
; natural order, or bit-reversed with skip_perm; of digits of one byte, tiled along the moduli.
%perm = host_to_device i64[4] {0, 2, 1, 3}
%q = host_to_device i64[2] {17, 97}
%psi = host_to_device i64[2, 4] fortran {1, 13, 9, 15, 1, 22, 64, 50}
%a = host_to_device i64[2, 4, 1, 2] {1, 3, 6, 8, 11, 13, 16, 1, 4, 6, 9, 11, 14, 16, 2, 4}
%o = empty [2, 4, 1, 2], i64
%o = ntt %a, -3, %perm, none, %q, none, none, %psi, %o, false, false
device_to_host %o, none -> i64[2, 4, 1, 2] {13, 75, 7, 84, 3, 18, 15, 29, 8, 1, 9, 72, 7, 36, 9, 12}
%o = ntt %a, -3, %perm, none, %q, %q, %q, %psi, %o, 0, 1
device_to_host %o, none -> i64[2, 4, 1, 2] {13, 75, 3, 18, 7, 84, 15, 29, 8, 1, 7, 36, 9, 72, 9, 12}
%b = host_to_device i64[2, 1, 2, 4] {1, 6, 11, 16, 3, 8, 13, 1, 4, 9, 14, 2, 6, 11, 16, 4}
%b = ntt %b, -1, %perm, none, %q, none, none, %psi, %b, false, false
device_to_host %b, none -> i64[2, 1, 2, 4] {13, 7, 3, 15, 75, 84, 18, 29, 8, 9, 7, 9, 1, 72, 36, 12}
%digits = host_to_device i8[1, 1, 1, 4] {1, -2, 3, 100}
%p = empty [1, 1, 2, 4], i64
%p = ntt %digits, -1, none, none, %q, none, none, %psi, %p, true, true
device_to_host %p, none -> i64[1, 1, 2, 4] {9, 3, 16, 10, 89, 45, 27, 37}
free %perm
free %q
free %psi
free %a
free %o
free %b
free %digits
free %p

; type %perm i64[4]
; type %q i64[2]
; type %psi i64[2, 4] strides [1, 2] offset 0
; type %a i64[2, 4, 1, 2]
; type %o i64[2, 4, 1, 2]
; type %b i64[2, 1, 2, 4]
; type %digits i8[1, 1, 1, 4]
; type %p i64[1, 1, 2, 4]
