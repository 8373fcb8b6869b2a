; Rows written where indices say, the last of equal ones; a negative index counts back.
%a = host_to_device i64[4, 2] {0, 1, 2, 3, 4, 5, 6, 7}
%indices = host_to_device i64[3] {2, -4, 2}
%values = host_to_device i64[3, 2] {10, 11, 20, 21, 30, 31}
%o = empty [4, 2], i64
%o = scatter %a, %indices, %values, %o
device_to_host %o, none -> i64[4, 2] {20, 21, 2, 3, 30, 31, 6, 7}
free %a
free %indices
free %values
free %o

; type %a i64[4, 2]
; type %indices i64[3]
; type %values i64[3, 2]
; type %o i64[4, 2]
