; The indices that sort; equal elements keep their order, in either direction.
%a = host_to_device i64[2, 4] {3, 1, 2, 1, 0, -5, 7, 0}
%o = empty [2, 4], i64
%o = argsort %a, 1, 0, %o
device_to_host %o, none -> i64[2, 4] {1, 3, 2, 0, 1, 0, 3, 2}
%a2 = host_to_device i64[2, 4] {3, 1, 2, 1, 0, -5, 7, 0}
%o2 = empty [2, 4], i64
%o2 = argsort %a2, -1, 1, %o2
device_to_host %o2, none -> i64[2, 4] {0, 2, 1, 3, 2, 0, 3, 1}
%a3 = host_to_device f64[4] {2.0, 0x7ff8000000000000, 0xfff0000000000000, 1.0}
%o3 = empty [4], i64
%o3 = argsort %a3, 0, 0, %o3
device_to_host %o3, none -> i64[4] {2, 3, 0, 1}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[2, 4]
; type %o i64[2, 4]
; type %a2 i64[2, 4]
; type %o2 i64[2, 4]
; type %a3 f64[4]
; type %o3 i64[4]
