; Powers; a negative exponent takes the inverse, and zero's inverse is zero.
%i = host_to_device i64[4] {2, 2, 0, 0}
%a = empty [4], goldilocks
%a = astype %i, goldilocks, %a
%e = host_to_device i64[4] {10, -1, 0, -3}
%p = empty [4], goldilocks
%p = field_pow %a, %e, %p
%o = empty [4, 1], u64
%o = to_canonical %p, %o
device_to_host %o, none -> u64[4, 1] {1024, 9223372034707292161, 1, 0}
free %i
free %a
free %e
free %p
free %o

; type %i i64[4]
; type %a goldilocks[4]
; type %e i64[4]
; type %p goldilocks[4]
; type %o u64[4, 1]
