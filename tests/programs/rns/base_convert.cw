; 230 and -2 modulo 5, 7 and 11, to 13 and 1009: plain digits leave -2 with 2 * 385 added, centred
; ones are exact here. Without factors the digits come themselves.
%a = host_to_device i64[2, 3] {0, 6, 10, 3, 5, 9}
%digits = host_to_device i64[2, 3] {0, 1, 5, 4, 2, 10}
%q = host_to_device i64[3] {5, 7, 11}
%inverses = host_to_device i64[3] {3, 6, 6}
%zeros = host_to_device i64[3] fill 0
%half = host_to_device i64[3] {2, 3, 5}
%hat = host_to_device i64[3, 2] {12, 77, 3, 55, 9, 35}
%p = host_to_device i64[2] {13, 1009}
%o = empty [2, 2], i64
%o = base_convert %a, %q, %inverses, %zeros, %hat, %p, %o
device_to_host %o, none -> i64[2, 2] {9, 230, 1, 768}
%o = base_convert %a, %q, %inverses, %half, %hat, %p, %o
device_to_host %o, none -> i64[2, 2] {9, 230, 11, 1007}
%o = base_convert %digits, %q, none, %half, %hat, %p, %o
device_to_host %o, none -> i64[2, 2] {9, 230, 11, 1007}
free %a
free %digits
free %q
free %inverses
free %zeros
free %half
free %hat
free %p
free %o

; type %a i64[2, 3]
; type %digits i64[2, 3]
; type %q i64[3]
; type %inverses i64[3]
; type %zeros i64[3]
; type %half i64[3]
; type %hat i64[3, 2]
; type %p i64[2]
; type %o i64[2, 2]
