; Quotients rounded down; integers divided by zero give 0.
%a = host_to_device i64[5] {7, -7, 7, -7, 7}
%b = host_to_device i64[5] {2, 2, -2, -2, 0}
%o = empty [5], i64
%o = floor_divide %a, %b, %o
device_to_host %o, none -> i64[5] {3, -4, -4, 3, 0}
%a2 = host_to_device f64[2] {7.0, -7.5}
%b2 = host_to_device f64[2] {2.0, 2.0}
%o2 = empty [2], f64
%o2 = floor_divide %a2, %b2, %o2
device_to_host %o2, none -> f64[2] {3.0, -4.0}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a i64[5]
; type %b i64[5]
; type %o i64[5]
; type %a2 f64[2]
; type %b2 f64[2]
; type %o2 f64[2]
