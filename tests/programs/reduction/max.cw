; The greatest along the axes; NaN where one is.
%a = host_to_device i64[2, 3] {3, 1, 2, -4, 0, 5}
%o = empty [2], i64
%o = max %a, [1], 0, %o
device_to_host %o, none -> i64[2] {3, 5}
%a2 = host_to_device f64[2, 2] {1.0, 0x7ff8000000000000, 2.0, 0xfff0000000000000}
%o2 = empty [2, 1], f64
%o2 = max %a2, [1], 1, %o2
device_to_host %o2, none -> f64[2, 1] {0x7ff8000000000000, 2.0}
free %a
free %o
free %a2
free %o2

; type %a i64[2, 3]
; type %o i64[2]
; type %a2 f64[2, 2]
; type %o2 f64[2, 1]
