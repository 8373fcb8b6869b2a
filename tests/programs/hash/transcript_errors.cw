; What a transcript absorbs is counted: it has room for it, and its proof has the length that is
; read of it.
%i = host_to_device i64[2] {3, 1}
%a = empty [2], goldilocks
%a = astype %i, goldilocks, %a
%t = transcript_new 20
%t = absorb_write %t, %a, %t
%p = empty [16], u8
%p = transcript_finish %t, 16, %p
%q = empty [8], u8
%q = transcript_finish %t, 8, %q
%u = empty [56], u8
%u = absorb %t, %a, %u
free %i
free %a
free %t
free %p
free %q
free %u

; error: transcript: step 8: transcript_finish: `transcript` (%t): expected a transcript whose proof has 8 bytes, got 16; `length` is what absorb_write wrote
; error: transcript: step 10: absorb: `transcript` (%t): expected a transcript of at most 2 bytes before this call, got 18; make the transcript with a larger capacity
