; The inverse of a diagonal matrix has the reciprocals; zeros stay.
%a = host_to_device f64[2, 2] {2.0, 0.0, 0.0, 4.0}
%o = empty [2, 2], f64
%o = inv %a, %o
device_to_host %o, none -> f64[2, 2] {0.5, 0.0, 0.0, 0.25}
%a2 = host_to_device c128[2, 2] {0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0}
%o2 = empty [2, 2], c128
%o2 = inv %a2, %o2
device_to_host %o2, none -> c128[2, 2] {0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0}
free %a
free %o
free %a2
free %o2

; type %a f64[2, 2]
; type %o f64[2, 2]
; type %a2 c128[2, 2]
; type %o2 c128[2, 2]
