; The remainder with the sign of the dividend, as in C; shapes are the same.
%a = host_to_device i64[2, 3] {7, -7, 100, -100, 0, 5}
%b = host_to_device i64[2, 3] {3, 3, 7, 7, 2, -5}
%o = empty [2, 3], i64
%o = _mod_tt %a, %b, %o
device_to_host %o, none -> i64[2, 3] {1, -1, 2, -2, 0, 0}
%o = _mod_tc %a, 9, %o
device_to_host %o, none -> i64[2, 3] {7, -7, 1, -1, 0, 5}
%o = _mod_ct 20, %b, %o
device_to_host %o, none -> i64[2, 3] {2, 2, 6, 6, 0, 0}
%a = mod %a, 4, %a
device_to_host %a, none -> i64[2, 3] {3, -3, 0, 0, 0, 1}
free %a
free %b
free %o

; type %a i64[2, 3]
; type %b i64[2, 3]
; type %o i64[2, 3]
