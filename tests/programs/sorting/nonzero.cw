; Where elements are not 0: as many as are asked for, rows of 0 beyond them.
%a = host_to_device i64[2, 3] {0, 7, 0, 5, 0, -1}
%o = empty [3, 2], i64
%o = nonzero %a, 3, %o
device_to_host %o, none -> i64[3, 2] {0, 1, 1, 0, 1, 2}
%a2 = host_to_device i64[2, 3] {0, 7, 0, 5, 0, -1}
%o2 = empty [2, 2], i64
%o2 = nonzero %a2, 2, %o2
device_to_host %o2, none -> i64[2, 2] {0, 1, 1, 0}
%a3 = host_to_device i64[2, 3] {0, 7, 0, 5, 0, -1}
%o3 = empty [4, 2], i64
%o3 = nonzero %a3, 4, %o3
device_to_host %o3, none -> i64[4, 2] {0, 1, 1, 0, 1, 2, 0, 0}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[2, 3]
; type %o i64[3, 2]
; type %a2 i64[2, 3]
; type %o2 i64[2, 2]
; type %a3 i64[2, 3]
; type %o3 i64[4, 2]
