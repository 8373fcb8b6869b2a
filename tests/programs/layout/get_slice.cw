; Indices drop their axis, ranges keep it. What is written through a slice is seen in its base.
%a = host_to_device i64[3, 4] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
%b = get_slice %a, [1, 0:4:1]
%c = get_slice %a, [0:3:2, 1:4:2]
%d = get_slice %a, [2, 3]
%e = get_slice %b, [3:4:9]
device_to_host %b, none -> i64[4] {4, 5, 6, 7}
device_to_host %c, none -> i64[2, 2] {1, 3, 9, 11}
device_to_host %d, none -> i64[] {11}
device_to_host %e, none -> i64[1] {7}
%o = empty [2, 4], i64
%low = get_slice %o, [0, 0:4:1]
%high = get_slice %o, [1, 0:4:2]
%pair = host_to_device i64[2] {20, 30}
%low = _modsum_ttc %b, %b, 10, %low
%high = _modmul_ttc %pair, %pair, 97, %high
free %low
free %high
device_to_host %o, none -> i64[2, 4] {8, 0, 2, 4, 12, 0, 27, 0}
free %a
free %b
free %c
free %d
free %e
free %o
free %pair

; type %a i64[3, 4]
; type %b i64[4] strides [1] offset 4
; type %c i64[2, 2] strides [8, 2] offset 1
; type %d i64[] strides [] offset 11
; type %e i64[1] strides [1] offset 7
; type %o i64[2, 4]
; type %low i64[4]
; type %high i64[2] strides [2] offset 4
; type %pair i64[2]
