; An end without a beginning, and a beginning without an end.
segment_end
segment_start "outer"
segment_start "inner"
%a = host_to_device i64[1] {1}
%b = reshape %a, [2]
segment_end
skip
free %a

; warning: segment-nesting: step 0: expected an open segment, got none
; warning: segment-nesting: step 1 in segment "outer": expected an end of the segment, got no end of "outer"
; error: shape: step 4 in segment "inner": reshape: `shape`: expected the same number of elements, got 1 in [1] and 2 in [2]
