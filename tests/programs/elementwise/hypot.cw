; The diagonal of a rectangle, also where the squares of its sides are infinite.
%a = host_to_device f64[4] {3.0, 5.0, 0.0, 0x7ff0000000000000}
%b = host_to_device f64[4] {4.0, 12.0, -2.0, 1.0}
%o = empty [4], f64
%o = hypot %a, %b, %o
device_to_host %o, none -> f64[4] {5.0, 13.0, 2.0, 0x7ff0000000000000}
%a2 = host_to_device f64[1] {1.2448546706642979e+181}
%b2 = host_to_device f64[1] {1.6598062275523972e+181}
%o2 = empty [1], f64
%o2 = hypot %a2, %b2, %o2
device_to_host %o2, none -> f64[1] {2.0747577844404965e+181}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a f64[4]
; type %b f64[4]
; type %o f64[4]
; type %a2 f64[1]
; type %b2 f64[1]
; type %o2 f64[1]
