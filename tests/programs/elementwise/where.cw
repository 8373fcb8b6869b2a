; Of each pair the one that the condition names; all three broadcast.
%a = host_to_device i64[2, 1] {1, 2}
%b = host_to_device i64[1] {-1}
%condition = host_to_device bool[3] {1, 0, 1}
%o = empty [2, 3], i64
%o = where %a, %b, %condition, %o
device_to_host %o, none -> i64[2, 3] {1, -1, 1, 2, -1, 2}
free %a
free %b
free %condition
free %o

; type %a i64[2, 1]
; type %b i64[1]
; type %condition bool[3]
; type %o i64[2, 3]
