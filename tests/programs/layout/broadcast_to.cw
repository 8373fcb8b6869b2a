; A view whose elements repeat along new axes and along those of size 1.
%a = host_to_device i64[2, 1] {1, 2}
%b = broadcast_to %a, [2, 2, 3]
device_to_host %b, none -> i64[2, 2, 3] {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}
free %a
free %b

; type %a i64[2, 1]
; type %b i64[2, 2, 3] strides [0, 1, 0] offset 0
