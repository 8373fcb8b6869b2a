; Uploads keep the strides of the host: a column-major array stays one, and reads the same.
%row = host_to_device i64[2, 3] {1, 2, 3, 4, 5, 6}
%column = host_to_device i32[2, 3] fortran {1, 2, 3, 4, 5, 6}
%given = host_to_device input "x" i8[4]
%scalar = host_to_device f64[] {2.5}
%nothing = host_to_device u64[0, 3] {}
device_to_host %row, none -> i64[2, 3] {1, 2, 3, 4, 5, 6}
device_to_host %column, none -> i32[2, 3] {1, 2, 3, 4, 5, 6}
device_to_host %given, none -> output "y"
device_to_host %scalar, none -> f64[] {2.5}
device_to_host %nothing, none -> u64[0, 3] {}
free %row
free %column
free %given
free %scalar
free %nothing

; type %row i64[2, 3]
; type %column i32[2, 3] strides [1, 2] offset 0
; type %given i8[4]
; type %scalar f64[]
; type %nothing u64[0, 3]
