; A transcript of 4 bytes: two counts, room for the log, room for the proof.
%t = transcript_new 4
device_to_host %t, none -> u8[24] fill 0
free %t

; type %t u8[24]
