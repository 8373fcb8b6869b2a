; Eigenvalues, the least first, and the vectors, whose signs are open.
%a = host_to_device f64[2, 2] {3.0, 0.0, 0.0, 1.0}
%o = empty [6], f64
%o = eigh_packed %a, %o
%part0 = slice %o, [0:2:1]
%abs0 = empty [2], f64
%abs0 = abs %part0, %abs0
device_to_host %abs0, none -> f64[2] {1.0, 3.0}
%part1 = slice %o, [2:6:1]
%abs1 = empty [4], f64
%abs1 = abs %part1, %abs1
device_to_host %abs1, none -> f64[4] {0.0, 1.0, 1.0, 0.0}
free %a
free %o
free %part0
free %abs0
free %part1
free %abs1

; type %a f64[2, 2]
; type %o f64[6]
; type %part0 f64[2]
; type %abs0 f64[2]
; type %part1 f64[4] strides [1] offset 2
; type %abs1 f64[4]
