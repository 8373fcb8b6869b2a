; Matrices are of floats, square where they must be, and fit one another.
%a = host_to_device f64[2, 3] iota
%n = host_to_device i64[2, 2] iota
%v = host_to_device f64[2] iota
%c = host_to_device c128[4] fill 1
%o = empty [2, 2], f64
%o1 = inv %a, %o
%o2 = inv %n, %o
%o3 = matmul %a, %a, %o
%o4 = matmul %v, %a, %o
%o5 = fft %v, 0, %o
%r = empty [4], f64
%o6 = irfft %c, 4, 0, %r
free %a
free %n
free %v
free %c
free %o
free %r

; error: shape: step 5: inv: `a` (%a): expected square matrices: last axes of equal size, got [2, 3]
; error: dtype: step 6: inv: `a` (%n): expected f32 or f64 or c64 or c128, got i64
; error: shape: step 7: matmul: `b` (%a): expected 3 rows, as many as `a` of shape [2, 3] has columns, got 2 rows in shape [2, 3]
; error: shape: step 8: matmul: `a` (%v): expected two axes or more, got [2]; reshape a vector to a matrix of one row or one column
; error: dtype: step 9: fft: `a` (%v): expected c64 or c128, got f64
; error: shape: step 11: irfft: `a` (%c): expected a last axis of n / 2 + 1 = 3, got [4]
