; Shapes broadcast, dtypes agree, moduli lie in 2 .. 2^62, integers stand where the name has a c.
%a = host_to_device i64[2, 3] iota
%b = host_to_device i64[2] {1, 2}
%h = host_to_device i32[2, 3] fill 1
%f = host_to_device f64[2, 3] fill 1
%q = host_to_device i64[3] {17, 1, 19}
%two = host_to_device i64[2] {17, 19}
%o = empty [2, 3], i64
%s = empty [3], i64
%p = empty [2, 3], i32
%e1 = _modsum_ttc %a, %b, 17, %o
%e2 = _modsum_ttc %a, %h, 17, %o
%e3 = _modsum_ttc %f, %f, 17, %o
%e4 = _modsum_ttt %a, %a, %q, %o
%e5 = _modsum_ttt %a, %a, %two, %o
%e6 = _modsum_ttc %a, %a, 0, %o
%e7 = _modsum_ttc %a, %a, 1, %o
%e8 = _modsum_ttc %a, %a, -17, %o
%e9 = _modsum_ttc %a, %a, 4611686018427387905, %o
%e10 = _modsum_ttc %a, %a, 17, %s
%e11 = _modsum_ttc %a, %a, 17, %p
%e12 = _modsum_ttc %h, %h, 4294967296, %p
%e13 = _modsum_ttt %a, %a, 17, %o
%e14 = _modsum_ttc %a, %a, %two, %o
%e15 = _modsum_ttc %a, %a, 17
%row = get_slice %a, [0, 0:3:1]
%e16 = _modsum_ttc %row, %row, 17, %a
free %b
free %h
free %f
free %q
free %two
free %o
free %s
free %p
free %row

; warning: leak: step 0: host_to_device (%a): expected a free of the tensor, got none
; error: shape: step 9: _modsum_ttc: `b` (%b): expected a shape that broadcasts with [2, 3], got [2]
; error: dtype: step 10: _modsum_ttc: `b` (%h): expected i64, got i32; all operands of this op have the same dtype
; error: dtype: step 11: _modsum_ttc: `a` (%f): expected i32 or i64, got f64
; error: modulus: step 12: _modsum_ttt: `q` (%q): expected a modulus from 2 to 2^62 - 1, got 1
; error: shape: step 13: _modsum_ttt: `q` (%two): expected one axis of length 1 or 3, got [2]; moduli run along the last axis of the result
; error: modulus: step 14: _modsum_ttc: `q`: expected a modulus from 2 to 2^62 - 1, got 0
; error: modulus: step 15: _modsum_ttc: `q`: expected a modulus from 2 to 2^62 - 1, got 1
; error: modulus: step 16: _modsum_ttc: `q`: expected a modulus from 2 to 2^62 - 1, got -17
; error: modulus: step 17: _modsum_ttc: `q`: expected a modulus from 2 to 2^62 - 1, got 4611686018427387905
; error: shape: step 18: _modsum_ttc: `out` (%s): expected i64[2, 3], got i64[3]
; error: dtype: step 19: _modsum_ttc: `out` (%p): expected i64[2, 3], got i32[2, 3]
; error: range: step 20: _modsum_ttc: `q`: expected an integer that i32 holds, got 4294967296
; error: argument-type: step 21: _modsum_ttt: `q`: expected a device tensor, got the integer 17
; error: argument-type: step 22: _modsum_ttc: `q`: expected an integer, got the tensor %two
; error: argument-count: step 23: _modsum_ttc: expected 4 arguments, got 3; in order: a, b, q, out
; error: aliasing: step 25: _modsum_ttc: `a` (%row): expected exactly the elements of `out`, or none of them, got some of the elements of `out`; write into another tensor
