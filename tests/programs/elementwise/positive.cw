; A copy.
%a = host_to_device i64[2] {5, -7}
%o = empty [2], i64
%o = positive %a, %o
device_to_host %o, none -> i64[2] {5, -7}
%a2 = host_to_device c128[1] {1.0, -2.0}
%o2 = empty [1], c128
%o2 = positive %a2, %o2
device_to_host %o2, none -> c128[1] {1.0, -2.0}
free %a
free %o
free %a2
free %o2

; type %a i64[2]
; type %o i64[2]
; type %a2 c128[1]
; type %o2 c128[1]
