; The opposite, modulo a power of two; of zero, the other zero.
%a = host_to_device i64[4] {5, -7, 0, -9223372036854775808}
%o = empty [4], i64
%o = negative %a, %o
device_to_host %o, none -> i64[4] {-5, 7, 0, -9223372036854775808}
%a2 = host_to_device u8[1] {1}
%o2 = empty [1], u8
%o2 = negative %a2, %o2
device_to_host %o2, none -> u8[1] {255}
%a3 = host_to_device f64[2] {0.0, 2.5}
%o3 = empty [2], f64
%o3 = negative %a3, %o3
device_to_host %o3, none -> f64[2] {-0.0, -2.5}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[4]
; type %o i64[4]
; type %a2 u8[1]
; type %o2 u8[1]
; type %a3 f64[2]
; type %o3 f64[2]
