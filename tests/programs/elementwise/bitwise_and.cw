; Bits that both have.
%a = host_to_device i32[2] {12, -1}
%b = host_to_device i32[2] {10, 255}
%o = empty [2], i32
%o = bitwise_and %a, %b, %o
device_to_host %o, none -> i32[2] {8, 255}
%a2 = host_to_device bool[2] {1, 1}
%b2 = host_to_device bool[2] {1, 0}
%o2 = empty [2], bool
%o2 = bitwise_and %a2, %b2, %o2
device_to_host %o2, none -> bool[2] {1, 0}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a i32[2]
; type %b i32[2]
; type %o i32[2]
; type %a2 bool[2]
; type %b2 bool[2]
; type %o2 bool[2]
