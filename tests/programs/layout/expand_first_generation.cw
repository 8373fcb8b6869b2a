; The first generation has the count first.
generation first
%a = host_to_device i64[1, 2] {7, 8}
%b = expand %a, 3, 0
device_to_host %b, none -> i64[3, 2] {7, 8, 7, 8, 7, 8}
free %a
free %b

; type %a i64[1, 2]
; type %b i64[3, 2] strides [0, 1] offset 0
