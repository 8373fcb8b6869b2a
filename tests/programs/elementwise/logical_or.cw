; Whether one is true.
%a = host_to_device bool[4] {0, 0, 1, 1}
%b = host_to_device bool[4] {0, 1, 0, 1}
%o = empty [4], bool
%o = logical_or %a, %b, %o
device_to_host %o, none -> bool[4] {0, 1, 1, 1}
free %a
free %b
free %o

; type %a bool[4]
; type %b bool[4]
; type %o bool[4]
