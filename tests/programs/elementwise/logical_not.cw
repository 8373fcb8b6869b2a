; Whether it is false.
%a = host_to_device bool[2] {0, 1}
%o = empty [2], bool
%o = logical_not %a, %o
device_to_host %o, none -> bool[2] {1, 0}
free %a
free %o

; type %a bool[2]
; type %o bool[2]
