; Whether the sign bit is set, which it is of a negative zero.
%a = host_to_device f64[5] {1.0, -1.0, 0.0, -0.0, 0xfff0000000000000}
%o = empty [5], bool
%o = signbit %a, %o
device_to_host %o, none -> bool[5] {0, 1, 0, 1, 1}
free %a
free %o

; type %a f64[5]
; type %o bool[5]
