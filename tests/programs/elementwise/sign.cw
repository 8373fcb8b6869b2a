; The sign; of a complex number, the number of magnitude 1 in its direction.
%a = host_to_device i64[3] {5, -7, 0}
%o = empty [3], i64
%o = sign %a, %o
device_to_host %o, none -> i64[3] {1, -1, 0}
%a2 = host_to_device f64[3] {-0.5, 3.0, 0x7ff0000000000000}
%o2 = empty [3], f64
%o2 = sign %a2, %o2
device_to_host %o2, none -> f64[3] {-1.0, 1.0, 1.0}
%a3 = host_to_device c128[3] {0.0, 3.0, 0.0, 0.0, -2.0, 0.0}
%o3 = empty [3], c128
%o3 = sign %a3, %o3
device_to_host %o3, none -> c128[3] {0.0, 1.0, 0.0, 0.0, -1.0, 0.0}
free %a
free %o
free %a2
free %o2
free %a3
free %o3

; type %a i64[3]
; type %o i64[3]
; type %a2 f64[3]
; type %o2 f64[3]
; type %a3 c128[3]
; type %o3 c128[3]
