; Two words a sample, into i64.
%random = host_to_device u64[4] {1, 2, 3, 4}
%o = empty [4], i64
%e1 = gaussian %random, %o
%pairs = host_to_device u64[2, 2] {1, 2, 3, 4}
%p = empty [2], i32
%e2 = gaussian %pairs, %p
free %random
free %o
free %pairs
free %p

; error: shape: step 2: gaussian: `random` (%random): expected a last axis of size 2, got [4]
; error: dtype: step 5: gaussian: `out` (%p): expected i64[2], got i32[2]
