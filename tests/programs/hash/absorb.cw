; Scalars: a byte 2 and the canonical number. The proof stays.
%t = transcript_new 18
%v = host_to_device goldilocks[2] {258, 18446744069414584320}
%t = absorb %t, %v, %t
device_to_host %t, none -> u8[52] {18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
free %t
free %v

; type %t u8[52]
; type %v goldilocks[2]
