; Differences, of integers modulo a power of two.
%a = host_to_device u8[2] {0, 5}
%b = host_to_device u8[2] {1, 3}
%o = empty [2], u8
%o = subtract %a, %b, %o
device_to_host %o, none -> u8[2] {255, 2}
%a2 = host_to_device f64[2] {0.5, 0x7ff0000000000000}
%b2 = host_to_device f64[2] {2.0, 1.0}
%o2 = empty [2], f64
%o2 = subtract %a2, %b2, %o2
device_to_host %o2, none -> f64[2] {-1.5, 0x7ff0000000000000}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a u8[2]
; type %b u8[2]
; type %o u8[2]
; type %a2 f64[2]
; type %b2 f64[2]
; type %o2 f64[2]
