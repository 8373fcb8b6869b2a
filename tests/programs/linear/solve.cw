; Linear equations; matrices without batch serve a batch of right sides.
%a = host_to_device f64[2, 2] {2.0, 0.0, 0.0, 4.0}
%b = host_to_device f64[2, 2, 1] {2.0, 8.0, 6.0, -4.0}
%o = empty [2, 2, 1], f64
%o = solve %a, %b, %o
device_to_host %o, none -> f64[2, 2, 1] {1.0, 2.0, 3.0, -1.0}
free %a
free %b
free %o

; type %a f64[2, 2]
; type %b f64[2, 2, 1]
; type %o f64[2, 2, 1]
