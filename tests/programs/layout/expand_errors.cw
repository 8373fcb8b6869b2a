; Only an axis of size 1 repeats, and at least once. What repeats is not written.
%a = host_to_device i64[2, 1] {7, 8}
%b = expand %a, 0, 3
%c = expand %a, 2, 3
%d = expand %a, 1, 0
%e = expand %a, 1, 3
%one = host_to_device i64[1] {1}
%e = _modsum_ttc %one, %one, 17, %e
free %a
free %one

; error: shape: step 1: expand: `a` (%a): expected an axis of size 1, got axis 0 of size 2
; error: axis: step 2: expand: `axis`: expected an axis of the tensor, got axis 2 of a tensor of rank 2
; error: range: step 3: expand: `repeat`: expected an integer from 1 to 281474976710656, got 0
; error: aliasing: step 6: _modsum_ttc: `out` (%e): expected elements apart, got a view with overlapping elements
