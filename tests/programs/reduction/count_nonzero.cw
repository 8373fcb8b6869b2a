; How many elements along the axes are not 0.
%a = host_to_device i64[2, 3] {0, 7, -1, 0, 0, 3}
%o = empty [2], i64
%o = count_nonzero %a, [1], 0, %o
device_to_host %o, none -> i64[2] {2, 1}
%a2 = host_to_device c128[1, 2] {0.0, 0.0, 0.0, 1.0}
%o2 = empty [1, 1], i64
%o2 = count_nonzero %a2, [0, 1], 1, %o2
device_to_host %o2, none -> i64[1, 1] {1}
free %a
free %o
free %a2
free %o2

; type %a i64[2, 3]
; type %o i64[2]
; type %a2 c128[1, 2]
; type %o2 i64[1, 1]
