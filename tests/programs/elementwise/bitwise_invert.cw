; The other bits; of bool, the other truth.
%a = host_to_device i64[3] {0, 5, -1}
%o = empty [3], i64
%o = bitwise_invert %a, %o
device_to_host %o, none -> i64[3] {-1, -6, 0}
%a2 = host_to_device u8[2] {0, 250}
%o2 = empty [2], u8
%o2 = bitwise_invert %a2, %o2
device_to_host %o2, none -> u8[2] {255, 5}
%a3 = host_to_device bool[2] {1, 0}
%o3 = empty [2], bool
%o3 = bitwise_invert %a3, %o3
device_to_host %o3, none -> bool[2] {0, 1}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[3]
; type %o i64[3]
; type %a2 u8[2]
; type %o2 u8[2]
; type %a3 bool[2]
; type %o3 bool[2]
