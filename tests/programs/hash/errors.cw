; Transcripts are bytes with a head; points are not at infinity; keys have 32 bytes.
%t = transcript_new 80
%odd = host_to_device u8[17] fill 0
%p = host_to_device bn254.g1[1] fill 0
%k = host_to_device u8[31] fill 0
%o = empty [2], goldilocks
%r1 = absorb %t, %p, %t
%r2 = transcript_squeeze %odd, %odd
%r3 = transcript_finish %t, 81, %o
%r4 = uniform_field %k, [2], goldilocks, 0, %o
%r5 = challenge %t, 0, u64, %o
%r6 = poseidon %o, %o
free %t
free %odd
free %p
free %k
free %o

; error: element: step 5: absorb: `value` (%p): expected points that are not at infinity, got infinity, at row-major place 0; transcripts cannot absorb points at infinity
; error: shape: step 6: transcript_squeeze: `transcript` (%odd): expected one axis of 16 + 2 capacity bytes, got [17]; transcript_new makes one
; error: range: step 7: transcript_finish: `length`: expected 0 to 80 bytes, got 81
; error: shape: step 8: uniform_field: `key` (%k): expected shape [32], got [31]
; error: dtype: step 9: challenge: `dtype`: expected any prime field, got u64
; error: dtype: step 10: poseidon: `a` (%o): expected bn254.fr, got goldilocks
