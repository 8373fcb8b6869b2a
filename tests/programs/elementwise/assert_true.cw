; What holds is handed on.
%a = host_to_device bool[3] {1, 1, 1}
%o = empty [3], bool
%o = assert_true %a, %o
device_to_host %o, none -> bool[3] {1, 1, 1}
free %a
free %o

; type %a bool[3]
; type %o bool[3]
