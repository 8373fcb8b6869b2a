; Adds to what is there. `a` is in the order of `perm`, `b` and the result in natural order. The
; form without an axis means the last; an `empty` to add to reads as zeros.
%a = host_to_device i64[1, 2, 2, 4] {3, 8, 0, 5, 10, 2, 7, 12, 4, 9, 1, 6, 11, 3, 8, 0}
%b = host_to_device i64[2, 2, 4] {1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6, 0, 7, 1, 8, 2}
%q = host_to_device i64[2] {17, 13}
%perm = host_to_device i64[4] {0, 2, 1, 3}
%o = empty [1, 2, 4], i64
%o = modmul_axis_sum %a, %b, %q, none, none, %perm, %o, true
device_to_host %o, none -> i64[1, 2, 4] {6, 12, 2, 11, 3, 0, 6, 2}
%o = modmul_axis_sum %a, %b, %q, %q, %q, none, %o, false, -1
device_to_host %o, none -> i64[1, 2, 4] {12, 14, 8, 5, 6, 10, 7, 4}
%c = host_to_device i64[1, 4, 2, 2] {3, 8, 0, 5, 10, 2, 7, 12, 4, 9, 1, 6, 11, 3, 8, 0}
%d = host_to_device i64[4, 2, 2] {1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6, 0, 7, 1, 8, 2}
%p = empty [1, 4, 2], i64
%p = modmul_axis_sum %c, %d, %q, none, none, %perm, %p, 1, -3
device_to_host %p, none -> i64[1, 4, 2] {3, 5, 16, 0, 7, 11, 5, 3}
free %a
free %b
free %q
free %perm
free %o
free %c
free %d
free %p

; type %a i64[1, 2, 2, 4]
; type %b i64[2, 2, 4]
; type %q i64[2]
; type %perm i64[4]
; type %o i64[1, 2, 4]
; type %c i64[1, 4, 2, 2]
; type %d i64[4, 2, 2]
; type %p i64[1, 4, 2]
