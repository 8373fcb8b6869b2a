; Three operands broadcast together, dtypes agree, moduli lie in 2 .. 2^62.
%a = host_to_device i64[2, 3] iota
%b = host_to_device i64[2] {1, 2}
%h = host_to_device i32[2, 3] fill 1
%q = host_to_device i64[3] {17, 1, 19}
%o = empty [2, 3], i64
%e1 = modmuladd %a, %a, %b, 17, %o
%e2 = modmuladd %a, %b, %a, 17, %o
%e3 = modmuladd %a, %a, %h, 17, %o
%e4 = modmuladd %a, %a, %a, %q, %o
%e5 = modmuladd %a, %a, %a, %b, %o
%e6 = modmuladd %a, 2, %o, %o
free %a
free %b
free %h
free %q
free %o

; error: shape: step 5: modmuladd: `c` (%b): expected a shape that broadcasts with [2, 3], got [2]
; error: shape: step 6: modmuladd: `b` (%b): expected a shape that broadcasts with [2, 3], got [2]
; error: dtype: step 7: modmuladd: `c` (%h): expected i64, got i32; all operands of this op have the same dtype
; error: modulus: step 8: modmuladd: `q` (%q): expected a modulus from 2 to 2^62 - 1, got 1
; error: shape: step 9: modmuladd: `q` (%b): expected one axis of length 1 or 3, got [2]; moduli run along the last axis of the result
; error: argument-count: step 10: modmuladd: expected 5 arguments, got 4; in order: a, b, c, q, out
