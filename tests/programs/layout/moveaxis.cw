; One axis moves, the others keep their order.
%a = host_to_device i64[2, 1, 3] {1, 2, 3, 4, 5, 6}
%b = moveaxis %a, 0, -1
%c = moveaxis %b, 2, 0
device_to_host %b, none -> i64[1, 3, 2] {1, 4, 2, 5, 3, 6}
device_to_host %c, none -> i64[2, 1, 3] {1, 2, 3, 4, 5, 6}
free %a
free %b
free %c

; type %a i64[2, 1, 3]
; type %b i64[1, 3, 2] strides [3, 1, 3] offset 0
; type %c i64[2, 1, 3]
