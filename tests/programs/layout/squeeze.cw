; An axis of size 1 goes.
%a = host_to_device i8[1, 2, 1] {1, 2}
%b = squeeze %a, 0
%c = squeeze %b, -1
device_to_host %c, none -> i8[2] {1, 2}
free %a
free %b
free %c

; type %a i8[1, 2, 1]
; type %b i8[2, 1]
; type %c i8[2]
