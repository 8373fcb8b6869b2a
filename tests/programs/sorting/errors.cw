; Indices are i64 within the axis, values are as many rows; only real numbers have an order.
%a = host_to_device i64[3] iota
%far = host_to_device i64[2] {0, 3}
%near = host_to_device i64[1] {0}
%z = host_to_device c128[2] fill 1
%f = host_to_device f64[2] iota
%o = empty [3], i64
%o1 = scatter %a, %far, %far, %o
%o2 = scatter %a, %near, %far, %o
%o3 = scatter %a, %f, %f, %o
%z1 = sort %z, 0, 0, %z
%o4 = searchsorted %a, %f, 0, %o
free %a
free %far
free %near
free %z
free %f
free %o

; error: range: step 6: scatter: `indices` (%far): expected indices from -3 to 2, got 3
; error: shape: step 7: scatter: `values` (%far): expected shape [1], got [2]
; error: dtype: step 8: scatter: `indices` (%f): expected i64, got f64
; error: dtype: step 9: sort: `a` (%z): expected integers or floats, got c128
; error: dtype: step 10: searchsorted: `sorted` (%f): expected i64, got f64; all operands of this op have the same dtype
