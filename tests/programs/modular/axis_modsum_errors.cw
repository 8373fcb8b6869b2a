; Never along the last axis; into exactly the rest of the shape.
%a = host_to_device i64[2, 3, 2] iota
%q = host_to_device i64[2] {17, 13}
%o = empty [2, 2], i64
%w = empty [3, 3], i64
%e1 = axis_modsum %a, 2, %q, %o
%e2 = axis_modsum %a, -1, %q, %o
%e3 = axis_modsum %a, 3, %q, %o
%e4 = axis_modsum %a, 1, %q, %w
%e5 = axis_modsum %a, 1, 17, %o
free %a
free %q
free %o
free %w

; error: axis: step 4: axis_modsum: `axis`: expected an axis before the last, got 2, the last of 3 axes; the moduli run along the last axis
; error: axis: step 5: axis_modsum: `axis`: expected an axis before the last, got -1, the last of 3 axes; the moduli run along the last axis
; error: axis: step 6: axis_modsum: `axis`: expected an axis from -3 to 2, got 3
; error: shape: step 7: axis_modsum: `out` (%w): expected i64[2, 2], got i64[3, 3]
; error: argument-type: step 8: axis_modsum: `q`: expected a device tensor, got the integer 17
