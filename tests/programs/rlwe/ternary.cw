; floor(3 w / 2^64) - 1.
%random = host_to_device u64[5] {0, 18446744073709551615, 9223372036854775808, 6148914691236517206, 12345678901234567890}
%o = empty [5], i64
%o = ternary %random, %o
device_to_host %o, none -> i64[5] {-1, 1, 0, 0, 1}
free %random
free %o

; type %random u64[5]
; type %o i64[5]
