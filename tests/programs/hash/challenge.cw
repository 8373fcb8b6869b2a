; 64 bytes of the log's hash modulo the prime: halo2's BLAKE2b, then its Keccak-256.
%t = transcript_new 10
%v = host_to_device goldilocks[1] {258}
%t = absorb %t, %v, %t
%t = transcript_squeeze %t, %t
%o = empty [], goldilocks
%o = challenge %t, 0, goldilocks, %o
device_to_host %o, none -> goldilocks[] {10415058122915079816}
%o = challenge %t, 1, goldilocks, %o
device_to_host %o, none -> goldilocks[] {11391010968354364139}
free %t
free %v
free %o

; type %t u8[36]
; type %v goldilocks[1]
; type %o goldilocks[]
