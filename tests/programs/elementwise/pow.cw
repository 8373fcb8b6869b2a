; Powers; integers wrap, and a negative exponent leaves 1, -1 or 0.
%a = host_to_device i64[8] {2, -3, 10, 3, 1, -1, 2, 0}
%b = host_to_device i64[8] {10, 3, 0, 41, -5, -3, -1, -1}
%o = empty [8], i64
%o = pow %a, %b, %o
device_to_host %o, none -> i64[8] {1024, -27, 1, -420491770248316829, 1, -1, 0, 0}
%a2 = host_to_device f64[3] {2.0, 4.0, 9.0}
%b2 = host_to_device f64[3] {-1.0, 0.5, 0.0}
%o2 = empty [3], f64
%o2 = pow %a2, %b2, %o2
device_to_host %o2, none -> f64[3] {0.5, 2.0, 1.0}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a i64[8]
; type %b i64[8]
; type %o i64[8]
; type %a2 f64[3]
; type %b2 f64[3]
; type %o2 f64[3]
