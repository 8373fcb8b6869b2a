; The eigenvalues of a self-adjoint matrix, the least first; the upper triangle is not read.
%a = host_to_device f64[2, 2] {3.0, 99.0, 0.0, -1.0}
%o = empty [2], f64
%o = eigvalsh %a, %o
device_to_host %o, none -> f64[2] {-1.0, 3.0}
%a2 = host_to_device c128[2, 2] {3.0, 0.0, 99.0, 0.0, 0.0, 0.0, -1.0, 0.0}
%o2 = empty [2], f64
%o2 = eigvalsh %a2, %o2
device_to_host %o2, none -> f64[2] {-1.0, 3.0}
free %a
free %o
free %a2
free %o2

; type %a f64[2, 2]
; type %o f64[2]
; type %a2 c128[2, 2]
; type %o2 f64[2]
