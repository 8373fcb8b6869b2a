; The complex conjugate: the imaginary part's sign changes.
%a = host_to_device c128[2] {1.0, 2.0, -3.0, -4.0}
%o = empty [2], c128
%o = conj %a, %o
device_to_host %o, none -> c128[2] {1.0, -2.0, -3.0, 4.0}
free %a
free %o

; type %a c128[2]
; type %o c128[2]
