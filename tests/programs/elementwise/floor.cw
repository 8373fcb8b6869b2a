; Rounded down; integers stay.
%a = host_to_device f64[6] {1.5, -1.5, 2.5, -0.5, 3.0, 0x7ff0000000000000}
%o = empty [6], f64
%o = floor %a, %o
device_to_host %o, none -> f64[6] {1.0, -2.0, 2.0, -1.0, 3.0, 0x7ff0000000000000}
%a2 = host_to_device i64[2] {5, -7}
%o2 = empty [2], i64
%o2 = floor %a2, %o2
device_to_host %o2, none -> i64[2] {5, -7}
free %a
free %o
free %a2
free %o2

; type %a f64[6]
; type %o f64[6]
; type %a2 i64[2]
; type %o2 i64[2]
