; Powers are repeated.
%ai = host_to_device i64[3] {5, 5, 5}
%a = empty [3], babybear
%a = astype %ai, babybear, %a
%pi = host_to_device i64[2] {1, 2}
%p = empty [2], babybear
%p = astype %pi, babybear, %p
%o = empty [3], babybear
%o = distribute_powers %a, %p, %o
%c = empty [3, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[3, 1] {5, 10, 5}
free %ai
free %a
free %pi
free %p
free %o
free %c

; type %ai i64[3]
; type %a babybear[3]
; type %pi i64[2]
; type %p babybear[2]
; type %o babybear[3]
; type %c u64[3, 1]
