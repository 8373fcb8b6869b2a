; Quotients by powers of two, rounded down; only signs are left beyond the width.
%a = host_to_device i64[4] {256, -5, -5, 5}
%b = host_to_device i64[4] {4, 1, 64, 64}
%o = empty [4], i64
%o = bitwise_right_shift %a, %b, %o
device_to_host %o, none -> i64[4] {16, -3, -1, 0}
%a2 = host_to_device u8[2] {128, 255}
%b2 = host_to_device u8[2] {7, 4}
%o2 = empty [2], u8
%o2 = bitwise_right_shift %a2, %b2, %o2
device_to_host %o2, none -> u8[2] {1, 15}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a i64[4]
; type %b i64[4]
; type %o i64[4]
; type %a2 u8[2]
; type %b2 u8[2]
; type %o2 u8[2]
