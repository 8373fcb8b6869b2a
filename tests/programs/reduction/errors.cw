; Axes are of the operand, each once; the least of nothing is nothing.
%a = host_to_device i64[2, 3] iota
%e = empty [2, 0], f64
%t = host_to_device bool[2] fill 1
%o = empty [2], i64
%f = empty [2], f64
%p = empty [], bool
%o1 = sum %a, [2], 0, %o
%o2 = sum %a, [1, -1], 0, %o
%o3 = min %e, [1], 0, %f
%o4 = max %t, [0], 0, %p
%o5 = sum %a, [0], 0, %o
%o6 = argmin %a, 5, 0, %o
free %a
free %e
free %t
free %o
free %f
free %p

; error: axis: step 6: sum: `axes`: expected axes from -2 to 1, got 2
; error: axis: step 7: sum: `axes`: expected each axis once, got -1
; error: shape: step 8: min: `a` (%e): expected at least one element: this op has no identity, got [2, 0]
; error: dtype: step 9: max: `a` (%t): expected integers or floats, got bool
; error: shape: step 10: sum: `out` (%o): expected i64[3], got i64[2]
; error: axis: step 11: argmin: `axis`: expected an axis from -2 to 1, got 5
