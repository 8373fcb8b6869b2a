; Of an impulse, a constant; `norm` 2 divides it by the length.
%a = host_to_device c128[4] {1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
%o = empty [4], c128
%o = fft %a, 0, %o
device_to_host %o, none -> c128[4] {1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0}
%a2 = host_to_device c128[4] {1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
%o2 = empty [4], c128
%o2 = fft %a2, 2, %o2
device_to_host %o2, none -> c128[4] {0.25, 0.0, 0.25, 0.0, 0.25, 0.0, 0.25, 0.0}
%a3 = host_to_device c128[2] {1.0, 0.0, 0.0, 2.0}
%o3 = empty [2], c128
%o3 = fft %a3, 0, %o3
device_to_host %o3, none -> c128[2] {1.0, 2.0, 1.0, -2.0}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a c128[4]
; type %o c128[4]
; type %a2 c128[4]
; type %o2 c128[4]
; type %a3 c128[2]
; type %o3 c128[2]
