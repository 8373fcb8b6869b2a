; The imaginary parts, as numbers of their type.
%a = host_to_device c128[2] {1.0, 2.0, -3.0, -4.0}
%o = empty [2], f64
%o = imag %a, %o
device_to_host %o, none -> f64[2] {2.0, -4.0}
%a2 = host_to_device c64[1] {5.0, 6.0}
%o2 = empty [1], f32
%o2 = imag %a2, %o2
device_to_host %o2, none -> f32[1] {6.0}
free %a
free %o
free %a2
free %o2

; type %a c128[2]
; type %o f64[2]
; type %a2 c64[1]
; type %o2 f32[1]
