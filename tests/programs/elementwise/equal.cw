; Whether both are the same number; zeros are, NaN is not even itself.
%a = host_to_device i64[3] {1, 2, 3}
%b = host_to_device i64[3] {2, 2, 2}
%o = empty [3], bool
%o = equal %a, %b, %o
device_to_host %o, none -> bool[3] {0, 1, 0}
%a2 = host_to_device f64[4] {1.0, 0x7ff8000000000000, 0.0, 0xfff0000000000000}
%b2 = host_to_device f64[4] {2.0, 0x7ff8000000000000, -0.0, 0x7ff0000000000000}
%o2 = empty [4], bool
%o2 = equal %a2, %b2, %o2
device_to_host %o2, none -> bool[4] {0, 0, 1, 0}
%a3 = host_to_device c128[2] {1.0, 2.0, 1.0, 0.0}
%b3 = host_to_device c128[2] {1.0, 2.0, 0.0, 1.0}
%o3 = empty [2], bool
%o3 = equal %a3, %b3, %o3
device_to_host %o3, none -> bool[2] {1, 0}
free %a
free %b
free %o
free %a2
free %b2
free %o2
free %a3
free %b3
free %o3

; type %a i64[3]
; type %b i64[3]
; type %o bool[3]
; type %a2 f64[4]
; type %b2 f64[4]
; type %o2 bool[4]
; type %a3 c128[2]
; type %b3 c128[2]
; type %o3 bool[2]
