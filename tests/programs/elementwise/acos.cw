; The inverse cosine of 1 is 0.
%a = host_to_device f64[1] {1.0}
%o = empty [1], f64
%o = acos %a, %o
device_to_host %o, none -> f64[1] {0.0}
%a2 = host_to_device f32[1] {1.0}
%o2 = empty [1], f32
%o2 = acos %a2, %o2
device_to_host %o2, none -> f32[1] {0.0}
free %a
free %o
free %a2
free %o2

; type %a f64[1]
; type %o f64[1]
; type %a2 f32[1]
; type %o2 f32[1]
