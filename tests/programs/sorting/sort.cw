; In ascending order along an axis, or in descending; NaN last.
%a = host_to_device i64[2, 4] {3, 1, 2, 1, 0, -5, 7, 0}
%o = empty [2, 4], i64
%o = sort %a, 1, 0, %o
device_to_host %o, none -> i64[2, 4] {1, 1, 2, 3, -5, 0, 0, 7}
%a2 = host_to_device i64[2, 4] {3, 1, 2, 1, 0, -5, 7, 0}
%o2 = empty [2, 4], i64
%o2 = sort %a2, -1, 1, %o2
device_to_host %o2, none -> i64[2, 4] {3, 2, 1, 1, 7, 0, 0, -5}
%a3 = host_to_device f64[4] {2.0, 0x7ff8000000000000, 0xfff0000000000000, 1.0}
%o3 = empty [4], f64
%o3 = sort %a3, 0, 0, %o3
device_to_host %o3, none -> f64[4] {0xfff0000000000000, 1.0, 2.0, 0x7ff8000000000000}
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
; type %o3 f64[4]
