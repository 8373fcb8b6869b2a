; Digits times the key, over the special modulus 13; then added to another polynomial.
%a = host_to_device i64[1, 2, 3] {5, 28, 3, 9, 11, 30}
%key = host_to_device i64[2, 2, 2, 4] {3, 3, 15, 5, 4, 12, 4, 4, 0, 9, 7, 34, 6, 1, 16, 23, 4, 5, 8, 1, 12, 3, 6, 16, 12, 6, 9, 23, 4, 5, 9, 5}
%q = host_to_device i64[4] {13, 17, 29, 37}
%psi = host_to_device i64[4, 2] {1, 8, 1, 13, 1, 12, 1, 31}
%psi_inv = host_to_device i64[4, 2] {1, 5, 1, 4, 1, 17, 1, 6}
%scale = host_to_device i64[4] {7, 5, 6, 19}
%half = host_to_device i64[4] {6, 8, 14, 18}
%up_hat = host_to_device i64[3, 4] {3, 12, 0, 29, 4, 0, 17, 17, 1, 1, 1, 1}
%down_hat = host_to_device i64[1, 3] {13, 20, 17}
%addend = host_to_device i64[1, 2, 2, 3] {10, 16, 11, 12, 7, 15, 15, 2, 35, 8, 26, 19}
%o = empty [1, 2, 2, 3], i64
%o = hybrid_key_switch %a, %key, %q, %psi, %psi_inv, none, %scale, %half, %up_hat, %down_hat, 2, none, %o
device_to_host %o, none -> i64[1, 2, 2, 3] {10, 0, 21, 11, 14, 9, 1, 4, 28, 8, 4, 26}
%o = hybrid_key_switch %a, %key, %q, %psi, %psi_inv, none, %scale, %half, %up_hat, %down_hat, 2, %addend, %o
device_to_host %o, none -> i64[1, 2, 2, 3] {3, 16, 32, 6, 21, 24, 16, 6, 26, 16, 1, 8}
free %a
free %key
free %q
free %psi
free %psi_inv
free %scale
free %half
free %up_hat
free %down_hat
free %addend
free %o

; type %a i64[1, 2, 3]
; type %key i64[2, 2, 2, 4]
; type %q i64[4]
; type %psi i64[4, 2]
; type %psi_inv i64[4, 2]
; type %scale i64[4]
; type %half i64[4]
; type %up_hat i64[3, 4]
; type %down_hat i64[1, 3]
; type %addend i64[1, 2, 2, 3]
; type %o i64[1, 2, 2, 3]
