; Running products along an axis; integers are i64 or u64.
%a = host_to_device i64[2, 3] {3, 1, 2, -4, 0, 5}
%o = empty [2, 3], i64
%o = cumulative_prod %a, 1, %o
device_to_host %o, none -> i64[2, 3] {3, 3, 6, -4, 0, 0}
%a2 = host_to_device i64[2, 3] {3, 1, 2, -4, 0, 5}
%o2 = empty [2, 3], i64
%o2 = cumulative_prod %a2, 0, %o2
device_to_host %o2, none -> i64[2, 3] {3, 1, 2, -12, 0, 10}
%a3 = host_to_device u8[2] {200, 100}
%o3 = empty [2], u64
%o3 = cumulative_prod %a3, -1, %o3
device_to_host %o3, none -> u64[2] {200, 20000}
%a4 = host_to_device f64[2] {0.5, 4.0}
%o4 = empty [2], f64
%o4 = cumulative_prod %a4, 0, %o4
device_to_host %o4, none -> f64[2] {0.5, 2.0}
free %a
free %o
free %a2
free %o2
free %a3
free %o3
free %a4
free %o4

; type %a i64[2, 3]
; type %o i64[2, 3]
; type %a2 i64[2, 3]
; type %o2 i64[2, 3]
; type %a3 u8[2]
; type %o3 u64[2]
; type %a4 f64[2]
; type %o4 f64[2]
