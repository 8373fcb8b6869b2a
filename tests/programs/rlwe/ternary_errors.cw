; Random words are unsigned, samples signed.
%random = host_to_device i64[2] {1, 2}
%words = host_to_device u64[2] {1, 2}
%o = empty [2], i64
%p = empty [2], i32
%e1 = ternary %random, %o
%e2 = ternary %words, %p
free %random
free %words
free %o
free %p

; error: dtype: step 4: ternary: `random` (%random): expected u64, got i64
; error: dtype: step 5: ternary: `out` (%p): expected i64[2], got i32[2]
