; One value everywhere, in place, through a view too.
%a = host_to_device i64[2, 2] {1, 2, 3, 4}
%column = get_slice %a, [0:2:1, 1]
%column = set_const_val %column, -7
%s = empty [], i8
%s = set_const_val %s, 127
%f = empty [2], f64
set_const_val %f, 3
device_to_host %a, none -> i64[2, 2] {1, -7, 3, -7}
device_to_host %s, none -> i8[] {127}
device_to_host %f, none -> f64[2] {3.0, 3.0}
free %a
free %column
free %s
free %f

; type %a i64[2, 2]
; type %column i64[2] strides [2] offset 1
; type %s i8[]
; type %f f64[2]
