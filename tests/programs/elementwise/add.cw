; Sums, of integers modulo a power of two; shapes broadcast.
%a = host_to_device i64[2, 1] {1, 2}
%b = host_to_device i64[3] {10, 20, 30}
%o = empty [2, 3], i64
%o = add %a, %b, %o
device_to_host %o, none -> i64[2, 3] {11, 21, 31, 12, 22, 32}
%a2 = host_to_device i8[2] {127, -128}
%b2 = host_to_device i8[2] {1, -1}
%o2 = empty [2], i8
%o2 = add %a2, %b2, %o2
device_to_host %o2, none -> i8[2] {-128, 127}
%a3 = host_to_device c128[1] {1.0, 2.0}
%b3 = host_to_device c128[1] {3.0, -5.0}
%o3 = empty [1], c128
%o3 = add %a3, %b3, %o3
device_to_host %o3, none -> c128[1] {4.0, -3.0}
free %a
free %b
free %o
free %a2
free %b2
free %o2
free %a3
free %b3
free %o3

; type %a i64[2, 1]
; type %b i64[3]
; type %o i64[2, 3]
; type %a2 i8[2]
; type %b2 i8[2]
; type %o2 i8[2]
; type %a3 c128[1]
; type %b3 c128[1]
; type %o3 c128[1]
