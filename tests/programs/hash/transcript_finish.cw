; The bytes of the proof.
%t = transcript_new 9
%v = host_to_device goldilocks[1] {258}
%t = absorb_write %t, %v, %t
%o = empty [8], u8
%o = transcript_finish %t, 8, %o
device_to_host %o, none -> u8[8] {2, 1, 0, 0, 0, 0, 0, 0}
free %t
free %v
free %o

; type %t u8[34]
; type %v goldilocks[1]
; type %o u8[8]
