; A permutation as long as the axis before the last; a result that is no operand.
%a = host_to_device i64[2, 4, 2] iota
%f = host_to_device f64[2, 4, 2] fill 1
%row = host_to_device i64[4] iota
%index = host_to_device i64[4] {0, 2, 1, 3}
%twice = host_to_device i64[4] {0, 2, 2, 3}
%short = host_to_device i64[2] {1, 0}
%narrow = host_to_device i32[4] {0, 2, 1, 3}
%o = empty [2, 4, 2], i64
%e1 = automorphism %row, %index, %o
%e2 = automorphism %f, %index, %o
%e3 = automorphism %a, %short, %o
%e4 = automorphism %a, %twice, %o
%e5 = automorphism %a, %narrow, %o
%e6 = automorphism %a, %index, %a
free %a
free %f
free %row
free %index
free %twice
free %short
free %narrow
free %o

; error: shape: step 8: automorphism: `a` (%row): expected two axes or more, the last two N and k, got [4]
; error: dtype: step 9: automorphism: `a` (%f): expected i32 or i64, got f64
; error: shape: step 10: automorphism: `index` (%short): expected shape [4], got [2]
; error: permutation: step 11: automorphism: `index` (%twice): expected a permutation of the numbers below 4, got 2 twice
; error: dtype: step 12: automorphism: `index` (%narrow): expected i64, got i32
; error: aliasing: step 13: automorphism: `a` (%a): expected none of the elements of `out`, got some of the elements of `out`; write into another tensor
