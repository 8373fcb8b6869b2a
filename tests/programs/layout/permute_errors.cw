; Each row of `perms` is a permutation, of the size of the permuted axis.
%a = host_to_device i64[2, 3] iota
%o = empty [2, 3], i64
%twice = host_to_device i64[2, 3] {0, 1, 2, 0, 0, 1}
%far = host_to_device i64[2, 3] {0, 1, 3, 0, 1, 2}
%small = host_to_device i64[2, 2] {0, 1, 1, 0}
%o1 = permute %a, %twice, %o, 0, 1
%o2 = permute %a, %far, %o, 0, 1
%o3 = permute %a, %small, %o, 0, 1
%o4 = permute %a, %far, %o, 1, 1
free %a
free %o
free %twice
free %far
free %small

; error: permutation: step 5: permute: `perms` (%twice): expected a permutation of the numbers below 3, got 0 twice
; error: permutation: step 6: permute: `perms` (%far): expected a permutation of the numbers below 3, got 3
; error: shape: step 7: permute: `perms` (%small): expected shape [2, 3], got [2, 2]
; error: axis: step 8: permute: `perm_axis`: expected another axis than elementwise_axis, got 1 for both
