; As many elements as before.
%a = host_to_device i64[2, 3] iota
%b = reshape %a, [7]
%c = reshape %a, [-1]
%d = reshape %b, [1]
%e = reshape %a, [6, 1, ...]
free %a

; error: shape: step 1: reshape: `shape`: expected the same number of elements, got 6 in [2, 3] and 7 in [7]
; error: shape: step 2: reshape: `shape`: expected sizes of 0 or more, got -1
; error: shape: step 4: reshape: `shape`: expected sizes of 0 or more, got ...
