; The magnitude of one number with the sign of another, of a zero's too.
%a = host_to_device f64[4] {1.0, -2.0, 3.0, 0.0}
%b = host_to_device f64[4] {-0.0, 5.0, 0xfff0000000000000, -1.0}
%o = empty [4], f64
%o = copysign %a, %b, %o
device_to_host %o, none -> f64[4] {-1.0, 2.0, -3.0, -0.0}
%a2 = host_to_device f32[1] {1.5}
%b2 = host_to_device f32[1] {-2.0}
%o2 = empty [1], f32
%o2 = copysign %a2, %b2, %o2
device_to_host %o2, none -> f32[1] {-1.5}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a f64[4]
; type %b f64[4]
; type %o f64[4]
; type %a2 f32[1]
; type %b2 f32[1]
; type %o2 f32[1]
