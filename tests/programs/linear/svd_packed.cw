; U, the singular values and V of a diagonal matrix; the signs of vectors are open.
%a = host_to_device f64[2, 2] {2.0, 0.0, 0.0, -3.0}
%o = empty [10], f64
%o = svd_packed %a, 0, %o
%part0 = slice %o, [0:4:1]
%abs0 = empty [4], f64
%abs0 = abs %part0, %abs0
device_to_host %abs0, none -> f64[4] {0.0, 1.0, 1.0, 0.0}
%part1 = slice %o, [4:6:1]
%abs1 = empty [2], f64
%abs1 = abs %part1, %abs1
device_to_host %abs1, none -> f64[2] {3.0, 2.0}
%part2 = slice %o, [6:10:1]
%abs2 = empty [4], f64
%abs2 = abs %part2, %abs2
device_to_host %abs2, none -> f64[4] {0.0, 1.0, 1.0, 0.0}
free %a
free %o
free %part0
free %abs0
free %part1
free %abs1
free %part2
free %abs2

; type %a f64[2, 2]
; type %o f64[10]
; type %part0 f64[4]
; type %abs0 f64[4]
; type %part1 f64[2] strides [1] offset 4
; type %abs1 f64[2]
; type %part2 f64[4] strides [1] offset 6
; type %abs2 f64[4]
