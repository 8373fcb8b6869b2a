; A pair of words, the low one first, modulo q.
%random = host_to_device u64[2, 2, 2] {5, 0, 0, 1, 18446744073709551615, 18446744073709551615, 7, 9}
%q = host_to_device i64[2] {17, 2305843009218281473}
%o = empty [2, 2], i64
%o = uniform_mod %random, %q, %o
device_to_host %o, none -> i64[2, 2] {5, 2305843009181581305, 0, 2305843008887979968}
%o = uniform_mod %random, 97, %o
device_to_host %o, none -> i64[2, 2] {5, 61, 34, 71}
free %random
free %q
free %o

; type %random u64[2, 2, 2]
; type %q i64[2]
; type %o i64[2, 2]
