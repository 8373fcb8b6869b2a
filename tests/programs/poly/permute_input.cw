; Three rows in order; the last is for blinding.
%ai = host_to_device i64[4] {5, 3, 5, 9}
%a = empty [4], babybear
%a = astype %ai, babybear, %a
%o = empty [4], babybear
%o = permute_input %a, 3, %o
%c = empty [4, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[4, 1] {3, 5, 5, 0}
free %ai
free %a
free %o
free %c

; type %ai i64[4]
; type %a babybear[4]
; type %o babybear[4]
; type %c u64[4, 1]
