; Products along axes; integers are i64 or u64, and nothing multiplies to 1.
%a = host_to_device i64[2, 3] {3, 1, 2, -4, 0, 5}
%o = empty [3], i64
%o = prod %a, [0], 0, %o
device_to_host %o, none -> i64[3] {-12, 0, 10}
%a2 = host_to_device u8[1, 2] {200, 100}
%o2 = empty [1, 1], u64
%o2 = prod %a2, [0, 1], 1, %o2
device_to_host %o2, none -> u64[1, 1] {20000}
%a3 = host_to_device f64[2, 0] {}
%o3 = empty [2], f64
%o3 = prod %a3, [1], 0, %o3
device_to_host %o3, none -> f64[2] {1.0, 1.0}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[2, 3]
; type %o i64[3]
; type %a2 u8[1, 2]
; type %o2 u64[1, 1]
; type %a3 f64[2, 0]
; type %o3 f64[2]
