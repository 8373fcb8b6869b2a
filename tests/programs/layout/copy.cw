; The same elements elsewhere, broadcast to where they go.
%a = host_to_device i64[2, 1] {1, 2}
%o = empty [2, 3], i64
%o = copy %a, %o
device_to_host %o, none -> i64[2, 3] {1, 1, 1, 2, 2, 2}
free %a
free %o

; type %a i64[2, 1]
; type %o i64[2, 3]
