; Without the sign; the least integer stays, and of floats only the sign bit changes.
%a = host_to_device i32[3] {-5, 7, -2147483648}
%o = empty [3], i32
%o = abs %a, %o
device_to_host %o, none -> i32[3] {5, 7, -2147483648}
%f = host_to_device f64[2] {-0.0, -1.5}
%f = abs %f, %f
device_to_host %f, none -> f64[2] {0.0, 1.5}
free %a
free %o
free %f

; type %a i32[3]
; type %o i32[3]
; type %f f64[2]
