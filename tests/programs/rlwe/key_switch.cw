; Digits of a, in the NTT domain, times the key: the sum over the digits, a polynomial at a time.
%a = host_to_device i64[1, 4, 1, 2] {80, 137, 23, 144, 69, 42, 29, 35}
%key = host_to_device i64[4, 2, 4, 2] {1, 3, 4, 6, 7, 9, 10, 12, 6, 8, 9, 11, 12, 14, 15, 17, 12, 14, 15, 17, 18, 20, 21, 23, 17, 19, 20, 22, 23, 25, 26, 28, 23, 25, 26, 28, 29, 31, 32, 34, 28, 30, 31, 33, 34, 36, 37, 39, 34, 36, 37, 39, 40, 42, 43, 45, 39, 41, 42, 44, 45, 47, 48, 50}
%q = host_to_device i64[2] {97, 193}
%psi = host_to_device i64[2, 4] {1, 22, 64, 50, 1, 112, 43, 184}
%inverse = host_to_device i64[2, 4] {1, 75, 47, 33, 1, 81, 9, 150}
%n_inv = host_to_device i64[2] {73, 145}
%perm = host_to_device i64[4] {0, 2, 1, 3}
%o = empty [1, 4, 2, 2], i64
%o = key_switch %a, %key, %q, none, %psi, %inverse, %n_inv, %perm, 4, 4, %o
device_to_host %o, none -> i64[1, 4, 2, 2] {0, 190, 44, 169, 64, 124, 53, 92, 64, 184, 73, 162, 87, 88, 54, 77}
free %a
free %key
free %q
free %psi
free %inverse
free %n_inv
free %perm
free %o

; type %a i64[1, 4, 1, 2]
; type %key i64[4, 2, 4, 2]
; type %q i64[2]
; type %psi i64[2, 4]
; type %inverse i64[2, 4]
; type %n_inv i64[2]
; type %perm i64[4]
; type %o i64[1, 4, 2, 2]
