; Axes in another order; an axis may be counted from the end.
%a = host_to_device i64[1, 2, 3] {0, 1, 2, 3, 4, 5}
%b = transpose %a, [2, 0, 1]
%c = transpose %a, [-1, -2, -3]
device_to_host %b, none -> i64[3, 1, 2] {0, 3, 1, 4, 2, 5}
device_to_host %c, none -> i64[3, 2, 1] {0, 3, 1, 4, 2, 5}
free %a
free %b
free %c

; type %a i64[1, 2, 3]
; type %b i64[3, 1, 2] strides [1, 6, 3] offset 0
; type %c i64[3, 2, 1] strides [1, 3, 6] offset 0
