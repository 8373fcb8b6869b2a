; No division by 0, no broadcast, one tensor at least.
%a = host_to_device i64[2] {1, 2}
%z = host_to_device i64[2] {1, 0}
%s = host_to_device i64[1] {1}
%o = empty [2], i64
%e1 = _mod_tt %a, %z, %o
%e2 = _mod_tc %a, 0, %o
%e3 = _mod_tt %a, %s, %o
%e4 = mod 5, 3, %o
free %a
free %z
free %s
free %o

; error: modulus: step 4: _mod_tt: `b` (%z): expected a divisor other than 0, got 0
; error: modulus: step 5: _mod_tc: `b`: expected a divisor other than 0, got 0
; error: shape: step 6: _mod_tt: `b` (%s): expected shape [2], got [1]
; error: argument-type: step 7: mod: `a`: expected a tensor, got two integers
