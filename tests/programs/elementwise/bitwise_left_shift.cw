; Multiples by powers of two; nothing is left beyond the width of the type.
%a = host_to_device i64[4] {1, 3, -1, 1}
%b = host_to_device i64[4] {4, 62, 1, 64}
%o = empty [4], i64
%o = bitwise_left_shift %a, %b, %o
device_to_host %o, none -> i64[4] {16, -4611686018427387904, -2, 0}
%a2 = host_to_device u8[2] {1, 255}
%b2 = host_to_device u8[2] {7, 4}
%o2 = empty [2], u8
%o2 = bitwise_left_shift %a2, %b2, %o2
device_to_host %o2, none -> u8[2] {128, 240}
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
