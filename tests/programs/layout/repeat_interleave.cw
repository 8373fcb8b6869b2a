; Each element of an axis several times in a row.
%a = host_to_device i64[2, 2] {1, 2, 3, 4}
%b = repeat_interleave %a, 2, 0
%c = repeat_interleave %a, 3, -1
device_to_host %b, none -> i64[4, 2] {1, 2, 1, 2, 3, 4, 3, 4}
device_to_host %c, none -> i64[2, 6] {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}
free %a
free %b
free %c

; type %a i64[2, 2]
; type %b i64[4, 2]
; type %c i64[2, 6]
