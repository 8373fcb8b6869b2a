; The first half of the transform of real numbers.
%a = host_to_device f64[4] {1.0, 2.0, 3.0, 5.0}
%o = empty [3], c128
%o = rfft %a, 0, %o
device_to_host %o, none -> c128[3] {11.0, 0.0, -2.0, 3.0, -3.0, 0.0}
%a2 = host_to_device f64[2] {3.0, 1.0}
%o2 = empty [2], c128
%o2 = rfft %a2, 0, %o2
device_to_host %o2, none -> c128[2] {4.0, 0.0, 2.0, 0.0}
free %a
free %o
free %a2
free %o2

; type %a f64[4]
; type %o c128[3]
; type %a2 f64[2]
; type %o2 c128[2]
