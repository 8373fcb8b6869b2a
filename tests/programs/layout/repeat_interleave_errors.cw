; At least once, along an axis that is there.
%a = host_to_device i64[2, 2] iota
%b = repeat_interleave %a, 0, 0
%c = repeat_interleave %a, 2, 2
free %a

; error: range: step 1: repeat_interleave: `repeats`: expected an integer from 1 to 281474976710656, got 0
; error: axis: step 2: repeat_interleave: `axis`: expected an axis from -2 to 1, got 2
