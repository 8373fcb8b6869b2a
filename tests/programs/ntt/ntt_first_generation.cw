; Ten arguments, always along axis -3.
generation first
%perm = host_to_device i64[4] {0, 2, 1, 3}
%q = host_to_device i64[2] {17, 97}
%psi = host_to_device i64[2, 4] fortran {1, 13, 9, 15, 1, 22, 64, 50}
%a = host_to_device i64[2, 4, 1, 2] {1, 3, 6, 8, 11, 13, 16, 1, 4, 6, 9, 11, 14, 16, 2, 4}
%o = empty [2, 4, 1, 2], i64
%o = ntt %a, %perm, none, %q, none, none, %psi, %o, false, false
device_to_host %o, none -> i64[2, 4, 1, 2] {13, 75, 7, 84, 3, 18, 15, 29, 8, 1, 9, 72, 7, 36, 9, 12}
free %perm
free %q
free %psi
free %a
free %o

; type %perm i64[4]
; type %q i64[2]
; type %psi i64[2, 4] strides [1, 2] offset 0
; type %a i64[2, 4, 1, 2]
; type %o i64[2, 4, 1, 2]
