; Where the greatest is, the first of equals; where the first NaN is, if one is.
%a = host_to_device i64[2, 3] {3, 1, 3, -4, 0, -4}
%o = empty [2], i64
%o = argmax %a, 1, 0, %o
device_to_host %o, none -> i64[2] {0, 1}
%a2 = host_to_device i64[2, 3] {3, 1, 3, -4, 0, -4}
%o2 = empty [1, 3], i64
%o2 = argmax %a2, 0, 1, %o2
device_to_host %o2, none -> i64[1, 3] {0, 0, 0}
%a3 = host_to_device f64[4] {1.0, 0x7ff8000000000000, 0xfff0000000000000, 0x7ff0000000000000}
%o3 = empty [], i64
%o3 = argmax %a3, -1, 0, %o3
device_to_host %o3, none -> i64[] {1}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[2, 3]
; type %o i64[2]
; type %a2 i64[2, 3]
; type %o2 i64[1, 3]
; type %a3 f64[4]
; type %o3 i64[]
