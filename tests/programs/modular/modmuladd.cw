; A product, reduced, and a sum, reduced: residues stay residues, other words keep C's sign.
%a = host_to_device i64[2, 3] {5, 3, 3, 0, 1, 12}
%b = host_to_device i64[3] {7, 11, 16}
%c = host_to_device i64[2, 1] {4, 10}
%q = host_to_device i64[3] {17, 13, 19}
%o = empty [2, 3], i64
%o = modmuladd %a, %b, %c, %q, %o
device_to_host %o, none -> i64[2, 3] {5, 11, 14, 10, 8, 12}
%o = modmuladd %a, 4, 1, 11, %o
device_to_host %o, none -> i64[2, 3] {10, 2, 2, 1, 5, 5}
%o = modmuladd %o, %b, %o, %q, %o
device_to_host %o, none -> i64[2, 3] {12, 11, 15, 8, 8, 9}
%n = host_to_device i32[3] {-3, 5, -10}
%r = empty [3], i32
%r = modmuladd %n, 2, 3, 7, %r
device_to_host %r, none -> i32[3] {-3, 6, -3}
free %a
free %b
free %c
free %q
free %o
free %n
free %r

; type %a i64[2, 3]
; type %b i64[3]
; type %c i64[2, 1]
; type %q i64[3]
; type %o i64[2, 3]
; type %n i32[3]
; type %r i32[3]
