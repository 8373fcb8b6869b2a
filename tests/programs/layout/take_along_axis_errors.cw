; Indices are i64, of the operand's rank, and within the axis.
%a = host_to_device i64[2, 3] iota
%o = empty [2, 3], i64
%far = host_to_device i64[2, 3] {0, 1, 3, 0, 0, 0}
%narrow = host_to_device i32[2, 3] fill 0
%flat = host_to_device i64[3] {0, 1, 2}
%o1 = take_along_axis %a, %far, 1, %o
%o2 = take_along_axis %a, %narrow, 1, %o
%o3 = take_along_axis %a, %flat, 1, %o
%o4 = take_along_axis %a, %far, 2, %o
%a = take_along_axis %a, %a, 1, %a
free %o
free %far
free %narrow
free %flat

; error: range: step 5: take_along_axis: `indices` (%far): expected indices from -3 to 2, got 3
; error: dtype: step 6: take_along_axis: `indices` (%narrow): expected i64, got i32
; error: shape: step 7: take_along_axis: `indices` (%flat): expected 2 axes, got [3]
; error: axis: step 8: take_along_axis: `axis`: expected an axis from -2 to 1, got 2
; error: range: step 9: take_along_axis: `indices` (%a): expected indices from -3 to 2, got 3
