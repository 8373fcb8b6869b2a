; circomlib's hash of two zeros, which a transcript shows as a canonical number.
%a = host_to_device bn254.fr[2] {0, 0, 0, 0, 0, 0, 0, 0}
%h = empty [], bn254.fr
%h = poseidon %a, %h
%t = transcript_new 33
%t = absorb %t, %h, %t
device_to_host %t, none -> u8[82] {33, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 100, 72, 182, 70, 132, 238, 57, 168, 35, 213, 254, 95, 213, 36, 49, 220, 129, 228, 129, 123, 242, 195, 234, 60, 171, 158, 35, 158, 251, 245, 152, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
free %a
free %h
free %t

; type %a bn254.fr[2]
; type %h bn254.fr[]
; type %t u8[82]
