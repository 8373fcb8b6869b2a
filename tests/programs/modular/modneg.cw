; In [0, q) for any word.
%a = host_to_device i64[2, 2] {3, -20, 0, 16}
%q = host_to_device i64[2] {17, 5}
%o = empty [2, 2], i64
%o = _modneg_tt %a, %q, %o
device_to_host %o, none -> i64[2, 2] {14, 0, 0, 4}
%o = _modneg_tc %a, 7, %o
device_to_host %o, none -> i64[2, 2] {4, 6, 0, 5}
%o = modneg_tt %a, %q, %o
%o = modneg_tc %o, 19, %o
device_to_host %o, none -> i64[2, 2] {5, 0, 0, 15}
%a = modneg %a, 11, %a
device_to_host %a, none -> i64[2, 2] {8, 9, 0, 6}
free %a
free %q
free %o

; type %a i64[2, 2]
; type %q i64[2]
; type %o i64[2, 2]
