; Of a constant, an impulse; `norm` 0 divides it by the length, 2 does not.
%a = host_to_device c128[4] {1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0}
%o = empty [4], c128
%o = ifft %a, 0, %o
device_to_host %o, none -> c128[4] {1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
%a2 = host_to_device c128[4] {1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
%o2 = empty [4], c128
%o2 = ifft %a2, 2, %o2
device_to_host %o2, none -> c128[4] {1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0}
free %a
free %o
free %a2
free %o2

; type %a c128[4]
; type %o c128[4]
; type %a2 c128[4]
; type %o2 c128[4]
