; Real numbers from the first half of their transform, as many as are asked for.
%a = host_to_device c128[2] {4.0, 0.0, 2.0, 0.0}
%o = empty [2], f64
%o = irfft %a, 2, 0, %o
device_to_host %o, none -> f64[2] {3.0, 1.0}
%a2 = host_to_device c128[3] {1.0, 0.0, 1.0, 0.0, 1.0, 0.0}
%o2 = empty [4], f64
%o2 = irfft %a2, 4, 0, %o2
device_to_host %o2, none -> f64[4] {1.0, 0.0, 0.0, 0.0}
free %a
free %o
free %a2
free %o2

; type %a c128[2]
; type %o f64[2]
; type %a2 c128[3]
; type %o2 f64[4]
