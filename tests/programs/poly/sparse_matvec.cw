; Rows of two, of none and of one entry.
%vi = host_to_device i64[3] {1, 10, 5}
%v = empty [3], babybear
%v = astype %vi, babybear, %v
%xi = host_to_device i64[3] {1, 2, 3}
%x = empty [3], babybear
%x = astype %xi, babybear, %x
%s = host_to_device i64[4] {0, 2, 2, 3}
%k = host_to_device i64[3] {0, 2, 1}
%o = empty [3], babybear
%o = sparse_matvec %s, %k, %v, %x, %o
%c = empty [3, 1], u64
%c = to_canonical %o, %c
device_to_host %c, none -> u64[3, 1] {31, 0, 10}
free %vi
free %v
free %xi
free %x
free %s
free %k
free %o
free %c

; type %vi i64[3]
; type %v babybear[3]
; type %xi i64[3]
; type %x babybear[3]
; type %s i64[4]
; type %k i64[3]
; type %o babybear[3]
; type %c u64[3, 1]
