; Whether a number, or a part of it, is NaN.
%a = host_to_device f64[5] {1.0, -0.0, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000}
%o = empty [5], bool
%o = isnan %a, %o
device_to_host %o, none -> bool[5] {0, 0, 0, 0, 1}
%a2 = host_to_device c128[3] {1.0, 0x7ff0000000000000, 0x7ff8000000000000, 0.0, 2.0, 1.0}
%o2 = empty [3], bool
%o2 = isnan %a2, %o2
device_to_host %o2, none -> bool[3] {0, 1, 0}
free %a
free %o
free %a2
free %o2

; type %a f64[5]
; type %o bool[5]
; type %a2 c128[3]
; type %o2 bool[3]
