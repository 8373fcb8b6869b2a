; An empty permutation of 32-bit words.
%a = host_to_device i64[2, 3, 1, 0] {}
%b = host_to_device i64[3, 1, 0] {}
%q = host_to_device i64[1] {17}
%p = host_to_device i32[0] {}
%o = zeros [2, 1, 0], i64
%o = modmul_axis_sum %a, %b, %q, none, none, %p, %o, 1
device_to_host %o, none -> i64[2, 1, 0] {}
free %a
free %b
free %q
free %p
free %o

; type %a i64[2, 3, 1, 0]
; type %b i64[3, 1, 0]
; type %q i64[1]
; type %p i32[0]
; type %o i64[2, 1, 0]
