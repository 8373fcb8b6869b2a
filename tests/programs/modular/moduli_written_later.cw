; Moduli that a step has used may be written by a later one, and handed out: what was derived from
; them is of their first contents.
%q = host_to_device i64[3] {17, 13, 19}
%a = host_to_device i64[2, 3] {5, 3, 3, 0, 1, 12}
%o = empty [2, 3], i64
%o = _modmul_ttt %a, %a, %q, %o
%q = _modsum_ttc %q, %q, 11, %q
device_to_host %q, none -> i64[3] {1, 4, 5}
device_to_host %o, none -> i64[2, 3] {8, 9, 9, 0, 1, 11}
free %q
free %a
free %o

; type %q i64[3]
; type %a i64[2, 3]
; type %o i64[2, 3]
