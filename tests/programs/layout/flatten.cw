; Neighbouring axes merge: a view where strides can say it, else a copy in row-major order.
%a = host_to_device i64[2, 1, 3] {1, 2, 3, 4, 5, 6}
%b = flatten %a, 0, 2
%c = flatten %a, -2, -1
%t = moveaxis %a, 2, 0
%d = flatten %t, 0, 2
device_to_host %b, none -> i64[6] {1, 2, 3, 4, 5, 6}
device_to_host %c, none -> i64[2, 3] {1, 2, 3, 4, 5, 6}
device_to_host %d, none -> i64[6] {1, 4, 2, 5, 3, 6}
free %a
free %b
free %c
free %t
free %d

; type %a i64[2, 1, 3]
; type %b i64[6]
; type %c i64[2, 3]
; type %t i64[3, 2, 1] strides [1, 3, 3] offset 0
; type %d i64[6]
