; Bits that either has.
%a = host_to_device i32[2] {12, -256}
%b = host_to_device i32[2] {10, 255}
%o = empty [2], i32
%o = bitwise_or %a, %b, %o
device_to_host %o, none -> i32[2] {14, -1}
%a2 = host_to_device bool[2] {0, 1}
%b2 = host_to_device bool[2] {0, 0}
%o2 = empty [2], bool
%o2 = bitwise_or %a2, %b2, %o2
device_to_host %o2, none -> bool[2] {0, 1}
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
