; Start and step are single numbers of one type; keys are two words, numbers floats.
%a = host_to_device i64[2] iota
%s = host_to_device i64[] {1}
%f = host_to_device f64[] {1}
%k = host_to_device u64[2] {1, 2}
%o = empty [2], i64
%r = empty [2], f64
%o1 = arange %a, %s, 2, %o
%o2 = arange %s, %f, 2, %o
%r1 = philox_uniform %a, [2], f64, %r
%o3 = philox_normal %k, [2], i64, %o
free %a
free %s
free %f
free %k
free %o
free %r

; error: shape: step 6: arange: `start` (%a): expected 0 axes, got [2]
; error: dtype: step 7: arange: `step` (%f): expected i64, got f64; all operands of this op have the same dtype
; error: dtype: step 8: philox_uniform: `key` (%a): expected u64, got i64
; error: dtype: step 9: philox_normal: `dtype`: expected f32 or f64, got i64
