; Whether no element along the axes is 0; all of nothing are.
%a = host_to_device i64[2, 2] {1, 0, 2, 3}
%o = empty [2], bool
%o = all %a, [1], 0, %o
device_to_host %o, none -> bool[2] {0, 1}
%a2 = host_to_device f64[1, 2] {1.0, 0x7ff8000000000000}
%o2 = empty [1, 1], bool
%o2 = all %a2, [0, 1], 1, %o2
device_to_host %o2, none -> bool[1, 1] {1}
%a3 = host_to_device f64[2, 0] {}
%o3 = empty [2], bool
%o3 = all %a3, [1], 0, %o3
device_to_host %o3, none -> bool[2] {1, 1}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[2, 2]
; type %o bool[2]
; type %a2 f64[1, 2]
; type %o2 bool[1, 1]
; type %a3 f64[2, 0]
; type %o3 bool[2]
