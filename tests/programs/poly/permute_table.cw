; The table beside its input, zeros behind.
%ti = host_to_device i64[4] {3, 4, 5, 8}
%t = empty [4], babybear
%t = astype %ti, babybear, %t
%r = host_to_device i64[3] {0, 2, 1}
%o = empty [4], babybear
%o = permute_table %t, %r, %o
%c = empty [4, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[4, 1] {3, 5, 4, 0}
free %ti
free %t
free %r
free %o
free %c

; type %ti i64[4]
; type %t babybear[4]
; type %r i64[3]
; type %o babybear[4]
; type %c u64[4, 1]
