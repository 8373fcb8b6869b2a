; Tensor or integer operands and moduli; operands broadcast to the result, moduli run along its
; last axis. Products and sums are exact at 62 bits; negative words keep C's sign.
%a = host_to_device i64[2, 3] {5, 3, 3, 0, 1, 12}
%b = host_to_device i64[3] {7, 11, 16}
%q = host_to_device i64[3] {17, 13, 19}
%o = empty [2, 3], i64
%o = _modsum_ttt %a, %b, %q, %o
device_to_host %o, none -> i64[2, 3] {12, 1, 0, 7, 12, 9}
%o = _modsum_ttc %a, %b, 11, %o
device_to_host %o, none -> i64[2, 3] {1, 3, 8, 7, 1, 6}
%o = _modsum_tct %a, 4, %q, %o
device_to_host %o, none -> i64[2, 3] {9, 7, 7, 4, 5, 16}
%o = _modsum_tcc %a, 4, 11, %o
device_to_host %o, none -> i64[2, 3] {9, 7, 7, 4, 5, 5}
%w = empty [2, 2, 3], i64
%w = modsum %a, %b, %q, %w
device_to_host %w, none -> i64[2, 2, 3] {12, 1, 0, 7, 12, 9, 12, 1, 0, 7, 12, 9}
%c = host_to_device i64[2] {2305843009218281472, 2305843009218936831}
%d = host_to_device i64[2] {2305843009218281470, 2305843009218936832}
%large = host_to_device i64[2] {2305843009218281473, 2305843009218936833}
%c = _modsum_ttt %c, %d, %large, %c
device_to_host %c, none -> i64[2] {2305843009218281469, 2305843009218936830}
%n = host_to_device i32[3] {-3, 5, -10}
%m = host_to_device i32[3] {0, 0, 1}
%r = empty [3], i32
%r = _modsum_ttc %n, %m, 7, %r
device_to_host %r, none -> i32[3] {-3, 5, -2}
free %a
free %b
free %q
free %o
free %w
free %c
free %d
free %large
free %n
free %m
free %r

; type %a i64[2, 3]
; type %b i64[3]
; type %q i64[3]
; type %o i64[2, 3]
; type %w i64[2, 2, 3]
; type %c i64[2]
; type %d i64[2]
; type %large i64[2]
; type %n i32[3]
; type %m i32[3]
; type %r i32[3]
