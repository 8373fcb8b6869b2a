; An axis of size 1 comes, anywhere from before the first to behind the last.
%a = host_to_device i64[2, 3] {1, 2, 3, 4, 5, 6}
%b = unsqueeze %a, 0
%c = unsqueeze %a, 1
%d = unsqueeze %a, -1
%e = unsqueeze %a, -3
device_to_host %b, none -> i64[1, 2, 3] {1, 2, 3, 4, 5, 6}
device_to_host %c, none -> i64[2, 1, 3] {1, 2, 3, 4, 5, 6}
device_to_host %d, none -> i64[2, 3, 1] {1, 2, 3, 4, 5, 6}
device_to_host %e, none -> i64[1, 2, 3] {1, 2, 3, 4, 5, 6}
free %a
free %b
free %c
free %d
free %e

; type %a i64[2, 3]
; type %b i64[1, 2, 3]
; type %c i64[2, 1, 3]
; type %d i64[2, 3, 1]
; type %e i64[1, 2, 3]
