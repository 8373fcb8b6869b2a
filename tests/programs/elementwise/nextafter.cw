; The nearest number in a direction; next to 0 is the least of all.
%a = host_to_device f64[3] {1.0, 0.0, 1.0}
%b = host_to_device f64[3] {2.0, 1.0, 1.0}
%o = empty [3], f64
%o = nextafter %a, %b, %o
device_to_host %o, none -> f64[3] {1.0000000000000002, 5e-324, 1.0}
%a2 = host_to_device f32[1] {1.0}
%b2 = host_to_device f32[1] {0.0}
%o2 = empty [1], f32
%o2 = nextafter %a2, %b2, %o2
device_to_host %o2, none -> f32[1] {0.99999994}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a f64[3]
; type %b f64[3]
; type %o f64[3]
; type %a2 f32[1]
; type %b2 f32[1]
; type %o2 f32[1]
