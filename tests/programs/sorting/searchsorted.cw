; Before which element of a sorted list a value belongs, left or right of equals.
%values = host_to_device i64[2, 2] {0, 3, 4, 9}
%sorted = host_to_device i64[4] {1, 3, 3, 7}
%o = empty [2, 2], i64
%o = searchsorted %values, %sorted, 0, %o
device_to_host %o, none -> i64[2, 2] {0, 1, 3, 4}
%values2 = host_to_device i64[2, 2] {0, 3, 4, 9}
%sorted2 = host_to_device i64[4] {1, 3, 3, 7}
%o2 = empty [2, 2], i64
%o2 = searchsorted %values2, %sorted2, 1, %o2
device_to_host %o2, none -> i64[2, 2] {0, 3, 3, 4}
free %values
free %sorted
free %o
free %values2
free %sorted2
free %o2

; type %values i64[2, 2]
; type %sorted i64[4]
; type %o i64[2, 2]
; type %values2 i64[2, 2]
; type %sorted2 i64[4]
; type %o2 i64[2, 2]
