; The angle of points on the axis; the sign of a zero says on which side of it.
%a = host_to_device f64[5] {0.0, -0.0, 0.0, -0.0, 1.0}
%b = host_to_device f64[5] {1.0, 1.0, 0.0, 0.0, 0x7ff0000000000000}
%o = empty [5], f64
%o = atan2 %a, %b, %o
device_to_host %o, none -> f64[5] {0.0, -0.0, 0.0, -0.0, 0.0}
free %a
free %b
free %o

; type %a f64[5]
; type %b f64[5]
; type %o f64[5]
