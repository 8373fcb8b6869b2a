; The lower factor with a positive diagonal, or the upper one, which reads its triangle alone.
%a = host_to_device f64[2, 2] {4.0, 2.0, 2.0, 10.0}
%o = empty [2, 2], f64
%o = cholesky %a, 0, %o
device_to_host %o, none -> f64[2, 2] {2.0, 0.0, 1.0, 3.0}
%a2 = host_to_device f64[2, 2] {4.0, 2.0, 99.0, 10.0}
%o2 = empty [2, 2], f64
%o2 = cholesky %a2, 1, %o2
device_to_host %o2, none -> f64[2, 2] {2.0, 1.0, 0.0, 3.0}
free %a
free %o
free %a2
free %o2

; type %a f64[2, 2]
; type %o f64[2, 2]
; type %a2 f64[2, 2]
; type %o2 f64[2, 2]
