; The run of axes exists and does not go backwards.
%a = host_to_device i64[2, 3] iota
%b = flatten %a, 0, 2
%c = flatten %a, 1, 0
%s = host_to_device i64[] {1}
%d = flatten %s, 0, 0
free %a
free %s

; error: axis: step 1: flatten: `end_axis`: expected an axis from -2 to 1, got 2
; error: axis: step 2: flatten: `end_axis`: expected axes from first to last, got axes 1 to 0
; error: axis: step 4: flatten: `start_axis`: expected an axis, of which a scalar has none, got 0
