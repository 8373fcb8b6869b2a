; Products, of integers modulo a power of two, of complex numbers by their parts.
%a = host_to_device i64[3] {3, -4, 4611686018427387904}
%b = host_to_device i64[3] {5, 6, 4}
%o = empty [3], i64
%o = multiply %a, %b, %o
device_to_host %o, none -> i64[3] {15, -24, 0}
%a2 = host_to_device c128[1] {1.0, 2.0}
%b2 = host_to_device c128[1] {3.0, -5.0}
%o2 = empty [1], c128
%o2 = multiply %a2, %b2, %o2
device_to_host %o2, none -> c128[1] {13.0, 1.0}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a i64[3]
; type %b i64[3]
; type %o i64[3]
; type %a2 c128[1]
; type %b2 c128[1]
; type %o2 c128[1]
