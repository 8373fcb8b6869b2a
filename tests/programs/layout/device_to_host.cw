; Downloads are row-major whatever the strides, compared or handed out. The second argument is
; HEAL's and empty; the documents leave it out.
%a = host_to_device i64[2, 3] fortran {1, 2, 3, 4, 5, 6}
%t = moveaxis %a, 0, 1
device_to_host %a, none -> i64[2, 3] {1, 2, 3, 4, 5, 6}
device_to_host %t -> i64[3, 2] {1, 4, 2, 5, 3, 6}
device_to_host %a -> output "a"
free %a
free %t

; type %a i64[2, 3] strides [1, 2] offset 0
; type %t i64[3, 2]
