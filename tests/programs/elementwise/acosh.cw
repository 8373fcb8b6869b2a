; The inverse hyperbolic cosine of 1 is 0.
%a = host_to_device f64[2] {1.0, 0x7ff0000000000000}
%o = empty [2], f64
%o = acosh %a, %o
device_to_host %o, none -> f64[2] {0.0, 0x7ff0000000000000}
%a2 = host_to_device f32[2] {1.0, 0x7f800000}
%o2 = empty [2], f32
%o2 = acosh %a2, %o2
device_to_host %o2, none -> f32[2] {0.0, 0x7f800000}
free %a
free %o
free %a2
free %o2

; type %a f64[2]
; type %o f64[2]
; type %a2 f32[2]
; type %o2 f32[2]
