; Block i of ChaCha20 modulo the prime.
%key = host_to_device u8[32] iota
%o = empty [2, 2], goldilocks
%o = uniform_field %key, [2, 2], goldilocks, 7, %o
device_to_host %o, none -> goldilocks[2, 2] {12858692948225205015, 7976869257587349134, 4086196419246557966, 16707696838639426001}
free %key
free %o

; type %key u8[32]
; type %o goldilocks[2, 2]
