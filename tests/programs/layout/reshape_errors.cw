; As many elements as before.
%a = host_to_device i64[2, 3] iota
%b = reshape %a, [7]
%c = reshape %a, [-1]
%d = reshape %b, [1]
%e = reshape %a, [6, 1, ...]
free %a

; error: shape: step 1: reshape: `shape`: expected the same number of elements, got [2, 3] has 6 elements, [7] has 7
; error: shape: step 2: reshape: `shape`: expected sizes of 0 or more, got Int(-1)
; error: shape: step 4: reshape: `shape`: expected sizes of 0 or more, got Ellipsis
