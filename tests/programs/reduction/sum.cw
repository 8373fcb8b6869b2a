; Sums along axes; integers are i64 or u64, and nothing adds to 0.
%a = host_to_device i64[2, 3] {3, 1, 2, -4, 0, 5}
%o = empty [2], i64
%o = sum %a, [1], 0, %o
device_to_host %o, none -> i64[2] {6, 1}
%a2 = host_to_device u8[1, 2] {200, 100}
%o2 = empty [1, 1], u64
%o2 = sum %a2, [0, 1], 1, %o2
device_to_host %o2, none -> u64[1, 1] {300}
%a3 = host_to_device f64[2, 0] {}
%o3 = empty [2], f64
%o3 = sum %a3, [1], 0, %o3
device_to_host %o3, none -> f64[2] {0.0, 0.0}
%a4 = host_to_device f64[1, 2] {0.5, 0.25}
%o4 = empty [1], f64
%o4 = sum %a4, [-1], 0, %o4
device_to_host %o4, none -> f64[1] {0.75}
free %a
free %o
free %a2
free %o2
free %a3
free %o3
free %a4
free %o4

; type %a i64[2, 3]
; type %o i64[2]
; type %a2 u8[1, 2]
; type %o2 u64[1, 1]
; type %a3 f64[2, 0]
; type %o3 f64[2]
; type %a4 f64[1, 2]
; type %o4 f64[1]
