; Two polynomials at 10.
%ai = host_to_device i64[2, 3] {1, 2, 3, 0, 0, 1}
%a = empty [2, 3], babybear
%a = astype %ai, babybear, %a
%xi = host_to_device i64[] {10}
%x = empty [], babybear
%x = astype %xi, babybear, %x
%o = empty [2], babybear
%o = evaluate %a, %x, %o
%c = empty [2, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[2, 1] {321, 100}
free %ai
free %a
free %xi
free %x
free %o
free %c

; type %ai i64[2, 3]
; type %a babybear[2, 3]
; type %xi i64[]
; type %x babybear[]
; type %o babybear[2]
; type %c u64[2, 1]
