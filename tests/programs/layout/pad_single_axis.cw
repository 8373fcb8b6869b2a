; Zeros behind the end of an axis.
%a = host_to_device i64[2, 2] {1, 2, 3, 4}
%o = empty [2, 3], i64
%o = pad_single_axis %a, 1, -1, %o
%p = empty [4, 2], i64
%p = pad_single_axis %a, 2, 0, %p
%r = empty [2, 2], i64
%r = pad_single_axis %a, 0, 0, %r
device_to_host %o, none -> i64[2, 3] {1, 2, 0, 3, 4, 0}
device_to_host %p, none -> i64[4, 2] {1, 2, 3, 4, 0, 0, 0, 0}
device_to_host %r, none -> i64[2, 2] {1, 2, 3, 4}
free %a
free %o
free %p
free %r

; type %a i64[2, 2]
; type %o i64[2, 3]
; type %p i64[4, 2]
; type %r i64[2, 2]
