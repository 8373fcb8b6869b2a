; HEAL binds the step's own name to the tensor that was written: both names mean it.
%a = host_to_device i64[2] {1, 2}
%o = empty [2], i64
%r = _modsum_ttc %a, %a, 3, %o
device_to_host %r, none -> i64[2] {2, 1}
free %o
device_to_host %r, none -> i64[2] {2, 1}
free %r
_modsum_ttc %a, %a, 3, %a
device_to_host %a, none -> i64[2] {2, 1}
free %a

; warning: result-name: step 2: _modsum_ttc: `result` (%r, %o): expected %o, got %r; both names now refer to the tensor that was written
; type %a i64[2]
; type %o i64[2]
