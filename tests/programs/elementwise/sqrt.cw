; Square roots; zeros keep their sign.
%a = host_to_device f64[5] {4.0, 0.0, -0.0, 2.25, 0x7ff0000000000000}
%o = empty [5], f64
%o = sqrt %a, %o
device_to_host %o, none -> f64[5] {2.0, 0.0, -0.0, 1.5, 0x7ff0000000000000}
%a2 = host_to_device c128[2] {-4.0, 0.0, 3.0, 4.0}
%o2 = empty [2], c128
%o2 = sqrt %a2, %o2
device_to_host %o2, none -> c128[2] {0.0, 2.0, 2.0, 1.0}
free %a
free %o
free %a2
free %o2

; type %a f64[5]
; type %o f64[5]
; type %a2 c128[2]
; type %o2 c128[2]
