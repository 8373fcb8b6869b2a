; One byte 0 more in the log; here or elsewhere.
%t = transcript_new 2
%o = empty [20], u8
%o = transcript_squeeze %t, %o
device_to_host %o, none -> u8[20] {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
%o = transcript_squeeze %o, %o
device_to_host %o, none -> u8[20] {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
free %t
free %o

; type %t u8[20]
; type %o u8[20]
