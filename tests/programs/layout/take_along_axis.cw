; Indices pick along one axis; an index below 0 counts from the end, once. An axis of size 1
; in the indices stands for all.
%a = host_to_device i64[2, 3] {10, 20, 30, 40, 50, 60}
%indices = host_to_device i64[2, 3] {2, 0, -1, 1, 1, -3}
%shared = host_to_device i64[1, 3] {2, 1, 0}
%o = empty [2, 3], i64
%o = take_along_axis %a, %indices, 1, %o
device_to_host %o, none -> i64[2, 3] {30, 10, 30, 50, 50, 40}
%p = empty [2, 3], i64
%p = take_along_axis %a, %shared, -1, %p
device_to_host %p, none -> i64[2, 3] {30, 20, 10, 60, 50, 40}
free %a
free %indices
free %shared
free %o
free %p

; type %a i64[2, 3]
; type %indices i64[2, 3]
; type %shared i64[1, 3]
; type %o i64[2, 3]
; type %p i64[2, 3]
