; Two digits, of 17 * 29 and of 37, each modulo 13 too and modulo the other's moduli.
%a = host_to_device i64[1, 2, 3] {5, 28, 3, 9, 11, 30}
%q = host_to_device i64[4] {13, 17, 29, 37}
%psi = host_to_device i64[4, 2] {1, 8, 1, 13, 1, 12, 1, 31}
%psi_inv = host_to_device i64[4, 2] {1, 5, 1, 4, 1, 17, 1, 6}
%scale = host_to_device i64[3] {5, 6, 19}
%half = host_to_device i64[3] {8, 14, 18}
%hat = host_to_device i64[3, 4] {3, 12, 0, 29, 4, 0, 17, 17, 1, 1, 1, 1}
%o = empty [1, 2, 2, 4], i64
%o = mod_up %a, %q, %psi, %psi_inv, none, %scale, %half, %hat, 2, %o
device_to_host %o, none -> i64[1, 2, 2, 4] {7, 5, 28, 19, 8, 9, 11, 17, 7, 9, 1, 3, 2, 4, 24, 30}
free %a
free %q
free %psi
free %psi_inv
free %scale
free %half
free %hat
free %o

; type %a i64[1, 2, 3]
; type %q i64[4]
; type %psi i64[4, 2]
; type %psi_inv i64[4, 2]
; type %scale i64[3]
; type %half i64[3]
; type %hat i64[3, 4]
; type %o i64[1, 2, 2, 4]
