; Eigenvalues and vectors of norm 1, complex, one behind the other.
%a = host_to_device f64[1, 1] {5.0}
%o = empty [2], c128
%o = eig_packed %a, %o
%part0 = slice %o, [0:1:1]
%abs0 = empty [1], f64
%abs0 = abs %part0, %abs0
device_to_host %abs0, none -> f64[1] {5.0}
%part1 = slice %o, [1:2:1]
%abs1 = empty [1], f64
%abs1 = abs %part1, %abs1
device_to_host %abs1, none -> f64[1] {1.0}
free %a
free %o
free %part0
free %abs0
free %part1
free %abs1

; type %a f64[1, 1]
; type %o c128[2]
; type %part0 c128[1]
; type %abs0 f64[1]
; type %part1 c128[1] strides [1] offset 1
; type %abs1 f64[1]
