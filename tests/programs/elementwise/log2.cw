; The logarithm to base 2 of powers of 2 is their exponent.
%a = host_to_device f64[6] {1.0, 8.0, 0.25, 5e-324, 0.0, 0x7ff0000000000000}
%o = empty [6], f64
%o = log2 %a, %o
device_to_host %o, none -> f64[6] {0.0, 3.0, -2.0, -1074.0, 0xfff0000000000000, 0x7ff0000000000000}
%a2 = host_to_device f32[2] {1.0, 8.0}
%o2 = empty [2], f32
%o2 = log2 %a2, %o2
device_to_host %o2, none -> f32[2] {0.0, 3.0}
free %a
free %o
free %a2
free %o2

; type %a f64[6]
; type %o f64[6]
; type %a2 f32[2]
; type %o2 f32[2]
