; Digits along a new last axis, low first; a negative word gives the digits of its two's complement.
%a = host_to_device i64[4] {5, -5, 1099511627776, 300}
%o = empty [4, 3], i64
%o = apply_g_decomp %a, 3, 3, %o
device_to_host %o, none -> i64[4, 3] {5, 0, 0, 3, 7, 7, 0, 0, 0, 4, 5, 4}
%p = empty [4, 2], i8
%p = g_decomposition %a, %p, 2, 7
device_to_host %p, none -> i8[4, 2] {5, 0, 123, 127, 0, 0, 44, 2}
%p = g_decomp %a, 2, 5, %p
device_to_host %p, none -> i8[4, 2] {5, 0, 27, 31, 0, 0, 12, 9}
free %a
free %o
free %p

; type %a i64[4]
; type %o i64[4, 3]
; type %p i8[4, 2]
