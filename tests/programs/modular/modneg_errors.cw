; The operand broadcasts to the result, not the other way round.
%a = host_to_device i64[2, 2] iota
%o = empty [2], i64
%o = _modneg_tc %a, 7, %o
%f = host_to_device u64[2, 2] iota
%p = empty [2, 2], u64
%p = _modneg_tc %f, 7, %p
free %a
free %f

; error: shape: step 2: _modneg_tc: `out` (%o): expected i64[2, 2], got i64[2]
; error: dtype: step 5: _modneg_tc: `a` (%f): expected i32 or i64, got u64
