; Reading what nothing wrote is odd, once a tensor; adding to it is HEAL's way to begin.
%e = empty [2], i64
%v = reshape %e, [1, 2]
%o = empty [1, 2], i64
%o = _modsum_ttc %e, %v, 17, %o
device_to_host %e, none -> i64[2] {0, 0}
free %e
free %v
free %o

; warning: unwritten-read: step 3: _modsum_ttc: `a` (%e): expected a tensor that was written, got zeros
; type %e i64[2]
; type %v i64[1, 2]
; type %o i64[1, 2]
