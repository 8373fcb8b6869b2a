; Two words a sample.
%random = host_to_device u64[2, 3] iota
%o = empty [2], i64
%o = uniform_mod %random, 97, %o
free %random

; error: shape: step 2: uniform_mod: `random` (%random): expected a last axis of size 2, got [2, 3]
