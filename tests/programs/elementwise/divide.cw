; Quotients; a number divided by zero is infinite with the signs' sign.
%a = host_to_device f64[4] {1.0, -3.0, 1.0, 1.0}
%b = host_to_device f64[4] {2.0, 4.0, 0.0, -0.0}
%o = empty [4], f64
%o = divide %a, %b, %o
device_to_host %o, none -> f64[4] {0.5, -0.75, 0x7ff0000000000000, 0xfff0000000000000}
%a2 = host_to_device c128[1] {5.0, 10.0}
%b2 = host_to_device c128[1] {2.0, 0.0}
%o2 = empty [1], c128
%o2 = divide %a2, %b2, %o2
device_to_host %o2, none -> c128[1] {2.5, 5.0}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a f64[4]
; type %b f64[4]
; type %o f64[4]
; type %a2 c128[1]
; type %b2 c128[1]
; type %o2 c128[1]
