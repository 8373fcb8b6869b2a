; Names: what nothing made, what was freed, what is freed twice, what is bound while it lives, and
; what is never freed. A name that was reported once is not reported again.
%a = host_to_device i64[2] {1, 2}
%b = reshape %lost, [2]
%c = reshape %lost, [2]
%d = reshape %b, [2]
free %a
%e = reshape %a, [2]
%f = reshape %a, [2]
free %unknown
%g = host_to_device i64[2] {1, 2}
free %g
free %g
%h = host_to_device i64[2] {1, 2}
%h = host_to_device i64[3] {1, 2, 3}

; error: undefined-name: step 1: reshape: `a` (%lost): expected a tensor that is defined before, got an undefined tensor; upload or allocate it first, or correct the name
; error: use-after-free: step 5: reshape: `a` (%a): expected a live tensor, got a tensor freed at step 4; move the free after the last use
; error: undefined-name: step 7: free (%unknown): expected a tensor that is defined before, got an undefined tensor; remove the free, or correct the name
; error: double-free: step 10: free (%g): expected a live tensor, got a tensor freed at step 9; free a name once
; warning: shadowed-name: step 12: host_to_device: `result` (%h): expected an unused name, got a tensor that is live since step 11
; warning: leak: step 12: host_to_device (%h): expected a free of the tensor, got none
