; Zero stays zero.
%ai = host_to_device i64[3] {1, 2, 0}
%a = empty [3], babybear
%a = astype %ai, babybear, %a
%o = empty [3], babybear
%o = batch_invert %a, 0, %o
%c = empty [3, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[3, 1] {1, 1006632961, 0}
free %ai
free %a
free %o
free %c

; type %ai i64[3]
; type %a babybear[3]
; type %o babybear[3]
; type %c u64[3, 1]
