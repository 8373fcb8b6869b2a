; The last limb, modulo 37, is divided away: the nearest integer for each coefficient.
%a = host_to_device i64[1, 2, 4] {7, 5, 28, 3, 2, 9, 11, 30}
%q = host_to_device i64[4] {13, 17, 29, 37}
%psi = host_to_device i64[4, 2] {1, 8, 1, 13, 1, 12, 1, 31}
%psi_inv = host_to_device i64[4, 2] {1, 5, 1, 4, 1, 17, 1, 6}
%scale = host_to_device i64[1] {19}
%half = host_to_device i64[1] {18}
%hat = host_to_device i64[1, 3] {7, 11, 18}
%inverse = host_to_device i64[3] {6, 6, 11}
%o = empty [1, 2, 3], i64
%o = rescale %a, %q, %psi, %psi_inv, none, %scale, %half, %hat, %inverse, %o
device_to_host %o, none -> i64[1, 2, 3] {0, 10, 7, 0, 13, 2}
free %a
free %q
free %psi
free %psi_inv
free %scale
free %half
free %hat
free %inverse
free %o

; type %a i64[1, 2, 4]
; type %q i64[4]
; type %psi i64[4, 2]
; type %psi_inv i64[4, 2]
; type %scale i64[1]
; type %half i64[1]
; type %hat i64[1, 3]
; type %inverse i64[3]
; type %o i64[1, 2, 3]
