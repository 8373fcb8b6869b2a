; Whether one is at most the other; NaN is not.
%a = host_to_device i64[3] {1, 2, 3}
%b = host_to_device i64[3] {2, 2, 2}
%o = empty [3], bool
%o = less_equal %a, %b, %o
device_to_host %o, none -> bool[3] {1, 1, 0}
%a2 = host_to_device f64[4] {1.0, 0x7ff8000000000000, 0.0, 0xfff0000000000000}
%b2 = host_to_device f64[4] {2.0, 0x7ff8000000000000, -0.0, 0x7ff0000000000000}
%o2 = empty [4], bool
%o2 = less_equal %a2, %b2, %o2
device_to_host %o2, none -> bool[4] {1, 0, 1, 1}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a i64[3]
; type %b i64[3]
; type %o bool[3]
; type %a2 f64[4]
; type %b2 f64[4]
; type %o2 bool[4]
