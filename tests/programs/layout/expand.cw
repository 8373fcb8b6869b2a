; An axis of size 1 repeats; nothing is copied. The later generation has the axis first.
%a = host_to_device i64[2, 1] {7, 8}
%b = expand %a, 1, 3
%c = expand %a, -1, 2
device_to_host %b, none -> i64[2, 3] {7, 7, 7, 8, 8, 8}
device_to_host %c, none -> i64[2, 2] {7, 7, 8, 8}
free %a
free %b
free %c

; type %a i64[2, 1]
; type %b i64[2, 3] strides [1, 0] offset 0
; type %c i64[2, 2] strides [1, 0] offset 0
