; Rounded to the nearest, of two to the even one; integers stay.
%a = host_to_device f64[6] {1.5, -1.5, 2.5, -0.5, 3.0, 0x7ff0000000000000}
%o = empty [6], f64
%o = round %a, %o
device_to_host %o, none -> f64[6] {2.0, -2.0, 2.0, -0.0, 3.0, 0x7ff0000000000000}
%a2 = host_to_device i64[2] {5, -7}
%o2 = empty [2], i64
%o2 = round %a2, %o2
device_to_host %o2, none -> i64[2] {5, -7}
%a3 = host_to_device c128[1] {1.5, 2.5}
%o3 = empty [1], c128
%o3 = round %a3, %o3
device_to_host %o3, none -> c128[1] {2.0, 2.0}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a f64[6]
; type %o f64[6]
; type %a2 i64[2]
; type %o2 i64[2]
; type %a3 c128[1]
; type %o3 c128[1]
