; The same tensor where its elements lie row-major without gaps, else a copy.
%a = host_to_device i64[2, 2] {1, 2, 3, 4}
%t = moveaxis %a, 0, 1
%b = contiguous %a
%c = make_contiguous %t
%one = host_to_device i64[1, 2] {10, 20}
%a = _modsum_ttc %a, %one, 97, %a
device_to_host %b, none -> i64[2, 2] {11, 22, 13, 24}
device_to_host %c, none -> i64[2, 2] {1, 3, 2, 4}
free %a
free %t
free %b
free %c
free %one

; type %a i64[2, 2]
; type %t i64[2, 2] strides [1, 2] offset 0
; type %b i64[2, 2]
; type %c i64[2, 2]
; type %one i64[1, 2]
