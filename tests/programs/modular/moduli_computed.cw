; Moduli that a run computes are prepared once for launches of one kernel and shape, and again when
; a step has written them.
%a = host_to_device i64[3, 2] {1, 2, 3, 4, 5, 6}
%h = host_to_device i64[2] {5, 9}
%two = host_to_device i64[2] {2, 2}
%q = empty [2], i64
%q = add %h, %two, %q
%x = empty [3, 2], i64
%x = _modmul_ttt %a, %a, %q, %x
%x = _modmul_ttt %x, %a, %q, %x
device_to_host %x, none -> i64[3, 2] {1, 8, 6, 9, 6, 7}
%q = add %q, %two, %q
%x = _modmul_ttt %x, %a, %q, %x
device_to_host %x, none -> i64[3, 2] {1, 3, 0, 10, 3, 3}
free %a
free %h
free %two
free %q
free %x

; type %a i64[3, 2]
; type %h i64[2]
; type %two i64[2]
; type %q i64[2]
; type %x i64[3, 2]
