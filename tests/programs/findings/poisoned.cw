; What follows from an error is not reported again: one finding each for steps 2 and 3.
%a = host_to_device i64[2, 3] iota
%q = host_to_device i64[3] {17, 19, 23}
%b = reshape %a, [5]
%c = _modsum_ttt %b, %a, %q, 7
%d = flatten %c, 0, 1
device_to_host %d, none -> i64[6] fill 0
free %a
free %b
free %c
free %d
free %q

; error: shape: step 2: reshape: `shape`: expected the same number of elements, got 6 in [2, 3] and 5 in [5]
; error: argument-type: step 3: _modsum_ttt: `out`: expected a device tensor, got the integer 7
