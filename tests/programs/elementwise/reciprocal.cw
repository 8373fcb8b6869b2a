; One divided by each.
%a = host_to_device f64[4] {2.0, -4.0, 0.0, 0x7ff0000000000000}
%o = empty [4], f64
%o = reciprocal %a, %o
device_to_host %o, none -> f64[4] {0.5, -0.25, 0x7ff0000000000000, 0.0}
%a2 = host_to_device c128[1] {0.0, 2.0}
%o2 = empty [1], c128
%o2 = reciprocal %a2, %o2
device_to_host %o2, none -> c128[1] {0.0, -0.5}
free %a
free %o
free %a2
free %o2

; type %a f64[4]
; type %o f64[4]
; type %a2 c128[1]
; type %o2 c128[1]
