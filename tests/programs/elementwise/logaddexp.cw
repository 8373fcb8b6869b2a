; The logarithm of a sum of exponentials; what is far smaller adds nothing.
%a = host_to_device f64[4] {1000.0, 0xfff0000000000000, 0xfff0000000000000, 0x7ff0000000000000}
%b = host_to_device f64[4] {-1000.0, 3.0, 0xfff0000000000000, 5.0}
%o = empty [4], f64
%o = logaddexp %a, %b, %o
device_to_host %o, none -> f64[4] {1000.0, 3.0, 0xfff0000000000000, 0x7ff0000000000000}
free %a
free %b
free %o

; type %a f64[4]
; type %b f64[4]
; type %o f64[4]
