; Products with themselves, of integers modulo a power of two.
%a = host_to_device i64[3] {-3, 4, 4294967296}
%o = empty [3], i64
%o = square %a, %o
device_to_host %o, none -> i64[3] {9, 16, 0}
%a2 = host_to_device c128[1] {1.0, 2.0}
%o2 = empty [1], c128
%o2 = square %a2, %o2
device_to_host %o2, none -> c128[1] {-3.0, 4.0}
free %a
free %o
free %a2
free %o2

; type %a i64[3]
; type %o i64[3]
; type %a2 c128[1]
; type %o2 c128[1]
