; Undoes ntt; HEAL's form has no axis.
%perm = host_to_device i64[4] {0, 2, 1, 3}
%q = host_to_device i64[2] {17, 97}
%psi = host_to_device i64[2, 4] fortran {1, 13, 9, 15, 1, 22, 64, 50}
%inverse = host_to_device i64[2, 4] fortran {1, 4, 2, 8, 1, 75, 47, 33}
%n_inv = host_to_device i64[2] {13, 73}
%a = host_to_device i64[2, 4, 1, 2] {13, 75, 7, 84, 3, 18, 15, 29, 8, 1, 9, 72, 7, 36, 9, 12}
%o = empty [2, 4, 1, 2], i64
%o = intt %a, %perm, none, %q, none, none, %inverse, %n_inv, %o, false
device_to_host %o, none -> i64[2, 4, 1, 2] {1, 3, 6, 8, 11, 13, 16, 1, 4, 6, 9, 11, 14, 16, 2, 4}
%b = host_to_device i64[2, 1, 2, 4] {13, 7, 3, 15, 75, 84, 18, 29, 8, 9, 7, 9, 1, 72, 36, 12}
%b = intt %b, -1, %perm, none, %q, none, none, %inverse, %n_inv, %b, false
device_to_host %b, none -> i64[2, 1, 2, 4] {1, 6, 11, 16, 3, 8, 13, 1, 4, 9, 14, 2, 6, 11, 16, 4}
free %perm
free %q
free %psi
free %inverse
free %n_inv
free %a
free %o
free %b

; type %perm i64[4]
; type %q i64[2]
; type %psi i64[2, 4] strides [1, 2] offset 0
; type %inverse i64[2, 4] strides [1, 2] offset 0
; type %n_inv i64[2]
; type %a i64[2, 4, 1, 2]
; type %o i64[2, 4, 1, 2]
; type %b i64[2, 1, 2, 4]
