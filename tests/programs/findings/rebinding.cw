; A name may be used again once it is free, for a tensor of another type.
%1 = host_to_device i64[2] {1, 2}
free %1
%1 = host_to_device i8[3] {1, 2, 3}
device_to_host %1, none -> i8[3] {1, 2, 3}
free %1

; type %1 i64[2]
; type %1 i8[3]
