; Negative integers are elements mod p.
%i = host_to_device i64[3] {5, -1, 0}
%a = empty [3], goldilocks
%a = astype %i, goldilocks, %a
%o = empty [3, 1], u64
%o = to_canonical %a, %o
device_to_host %o, none -> u64[3, 1] {5, 18446744069414584320, 0}
free %i
free %a
free %o

; type %i i64[3]
; type %a goldilocks[3]
; type %o u64[3, 1]
