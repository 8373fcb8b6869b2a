; The singular values, the largest first; real, also of complex matrices.
%a = host_to_device f64[2, 2] {2.0, 0.0, 0.0, -3.0}
%o = empty [2], f64
%o = svdvals %a, %o
device_to_host %o, none -> f64[2] {3.0, 2.0}
%a2 = host_to_device c128[1, 2] {0.0, 0.0, 0.0, 4.0}
%o2 = empty [1], f64
%o2 = svdvals %a2, %o2
device_to_host %o2, none -> f64[1] {4.0}
free %a
free %o
free %a2
free %o2

; type %a f64[2, 2]
; type %o f64[2]
; type %a2 c128[1, 2]
; type %o2 f64[1]
