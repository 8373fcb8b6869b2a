; Values at the four roots of unity, in natural order.
%ai = host_to_device i64[4] {1, 2, 3, 4}
%a = empty [4], babybear
%a = astype %ai, babybear, %a
%o = empty [4], babybear
%o = field_ntt %a, 0, none, 1, %o
%c = empty [4, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[4, 1] {10, 569722814, 2013265919, 1443543103}
free %ai
free %a
free %o
free %c

; type %ai i64[4]
; type %a babybear[4]
; type %o babybear[4]
; type %c u64[4, 1]
