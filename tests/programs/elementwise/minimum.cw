; The smaller; NaN is neither and stays.
%a = host_to_device i64[3] {1, 5, -3}
%b = host_to_device i64[3] {4, 2, -8}
%o = empty [3], i64
%o = minimum %a, %b, %o
device_to_host %o, none -> i64[3] {1, 2, -8}
%a2 = host_to_device f64[3] {1.0, 0x7ff8000000000000, 0xfff0000000000000}
%b2 = host_to_device f64[3] {2.0, 0.0, 3.0}
%o2 = empty [3], f64
%o2 = minimum %a2, %b2, %o2
device_to_host %o2, none -> f64[3] {1.0, 0x7ff8000000000000, 0xfff0000000000000}
free %a
free %b
free %o
free %a2
free %b2
free %o2

; type %a i64[3]
; type %b i64[3]
; type %o i64[3]
; type %a2 f64[3]
; type %b2 f64[3]
; type %o2 f64[3]
