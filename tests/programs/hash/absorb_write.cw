; The proof has the canonical numbers without their prefixes.
%t = transcript_new 9
%v = host_to_device goldilocks[1] {258}
%t = absorb_write %t, %v, %t
device_to_host %t, none -> u8[34] {9, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 2, 1, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0}
free %t
free %v

; type %t u8[34]
; type %v goldilocks[1]
