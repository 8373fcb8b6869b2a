; The hyperbolic sine at zeros, which stay, and at the infinities.
%a = host_to_device f64[4] {0.0, -0.0, 0xfff0000000000000, 0x7ff0000000000000}
%o = empty [4], f64
%o = sinh %a, %o
device_to_host %o, none -> f64[4] {0.0, -0.0, 0xfff0000000000000, 0x7ff0000000000000}
%a2 = host_to_device f32[2] {0.0, -0.0}
%o2 = empty [2], f32
%o2 = sinh %a2, %o2
device_to_host %o2, none -> f32[2] {0.0, -0.0}
free %a
free %o
free %a2
free %o2

; type %a f64[4]
; type %o f64[4]
; type %a2 f32[2]
; type %o2 f32[2]
