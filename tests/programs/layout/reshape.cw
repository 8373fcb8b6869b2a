; Row-major order decides. A transposed tensor has no such view, so its elements are copied.
%a = host_to_device i64[2, 3] {0, 1, 2, 3, 4, 5}
%t = moveaxis %a, 0, 1
%b = reshape %a, [3, 2]
%c = reshape %t, [6]
%d = reshape %t, [3, 1, 2]
device_to_host %b, none -> i64[3, 2] {0, 1, 2, 3, 4, 5}
device_to_host %c, none -> i64[6] {0, 3, 1, 4, 2, 5}
device_to_host %d, none -> i64[3, 1, 2] {0, 3, 1, 4, 2, 5}
free %a
free %t
free %b
free %c
free %d

; type %a i64[2, 3]
; type %t i64[3, 2] strides [1, 3] offset 0
; type %b i64[3, 2]
; type %c i64[6]
; type %d i64[3, 1, 2] strides [1, 6, 3] offset 0
