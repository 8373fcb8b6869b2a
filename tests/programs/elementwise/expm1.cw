; One less than the exponential function: exact near 0, whose sign stays.
%a = host_to_device f64[5] {0.0, -0.0, 1e-300, 0xfff0000000000000, 0x7ff0000000000000}
%o = empty [5], f64
%o = expm1 %a, %o
device_to_host %o, none -> f64[5] {0.0, -0.0, 1e-300, -1.0, 0x7ff0000000000000}
%a2 = host_to_device f32[2] {0.0, -0.0}
%o2 = empty [2], f32
%o2 = expm1 %a2, %o2
device_to_host %o2, none -> f32[2] {0.0, -0.0}
free %a
free %o
free %a2
free %o2

; type %a f64[5]
; type %o f64[5]
; type %a2 f32[2]
; type %o2 f32[2]
