; The sum along an axis before the last, modulo the moduli along the last.
%a = host_to_device i64[2, 3, 2] {1, 2, 16, 5, 10, 12, 3, 3, 3, 3, 3, 3}
%q = host_to_device i64[2] {17, 13}
%o = empty [2, 2], i64
%o = axis_modsum %a, 1, %q, %o
device_to_host %o, none -> i64[2, 2] {10, 6, 9, 9}
%p = empty [3, 2], i64
%p = axis_modsum %a, -3, %q, %p
device_to_host %p, none -> i64[3, 2] {4, 5, 2, 8, 13, 2}
free %a
free %q
free %o
free %p

; type %a i64[2, 3, 2]
; type %q i64[2]
; type %o i64[2, 2]
; type %p i64[3, 2]
