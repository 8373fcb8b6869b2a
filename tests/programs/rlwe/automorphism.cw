; X -> X^3 of polynomials of degree 4, two limbs, in bit-reversed order: exponents 1, 5, 3, 7.
%a = host_to_device i64[2, 4, 2] iota
%index = host_to_device i64[4] {2, 3, 0, 1}
%o = empty [2, 4, 2], i64
%o = automorphism %a, %index, %o
device_to_host %o, none -> i64[2, 4, 2] {4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11}
%row = host_to_device i32[4, 1] {10, 11, 12, 13}
%r = empty [4, 1], i32
%r = automorphism %row, %index, %r
device_to_host %r, none -> i32[4, 1] {12, 13, 10, 11}
free %a
free %index
free %o
free %row
free %r

; type %a i64[2, 4, 2]
; type %index i64[4]
; type %o i64[2, 4, 2]
; type %row i32[4, 1]
; type %r i32[4, 1]
