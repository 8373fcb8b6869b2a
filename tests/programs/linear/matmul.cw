; Rows times columns; axes before the last two broadcast; nothing to sum gives zeros.
%a = host_to_device i32[2, 3] {1, 2, 3, 4, 5, 6}
%b = host_to_device i32[2, 3, 1] {1, 0, -1, 2147483647, 1, 0}
%o = empty [2, 2, 1], i32
%o = matmul %a, %b, %o
device_to_host %o, none -> i32[2, 2, 1] {-2, -2, -2147483647, 1}
%x = host_to_device f64[1, 2] {0.5, -2.0}
%y = host_to_device f64[2, 2] {1.0, 2.0, 3.0, 4.0}
%z = empty [1, 2], f64
%z = matmul %x, %y, %z
device_to_host %z, none -> f64[1, 2] {-5.5, -7.0}
free %a
free %b
free %o
free %x
free %y
free %z

; type %a i32[2, 3]
; type %b i32[2, 3, 1]
; type %o i32[2, 2, 1]
; type %x f64[1, 2]
; type %y f64[2, 2]
; type %z f64[1, 2]
