; The determinant's sign and the logarithm of its magnitude; 0 and -inf if singular.
%a = host_to_device f64[2, 2] {0.0, 1.0, 1.0, 0.0}
%o = empty [2], f64
%o = slogdet_packed %a, %o
device_to_host %o, none -> f64[2] {-1.0, 0.0}
%a2 = host_to_device f64[2, 2] {1.0, 2.0, 2.0, 4.0}
%o2 = empty [2], f64
%o2 = slogdet_packed %a2, %o2
device_to_host %o2, none -> f64[2] {0.0, 0xfff0000000000000}
free %a
free %o
free %a2
free %o2

; type %a f64[2, 2]
; type %o f64[2]
; type %a2 f64[2, 2]
; type %o2 f64[2]
