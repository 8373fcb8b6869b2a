; The place exists, and there are 16 axes at most.
%a = host_to_device i64[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] {1}
%b = unsqueeze %a, 0
%c = host_to_device i64[2] {1, 2}
%d = unsqueeze %c, 2
%e = unsqueeze %c, -3
free %a
free %c

; error: shape: step 1: unsqueeze: `axis`: expected at most 16 axes and 2^48 elements, got rank 17, above the limit of 16
; error: axis: step 3: unsqueeze: `axis`: expected an axis of the tensor, got axis 2 of a tensor of rank 1
; error: axis: step 4: unsqueeze: `axis`: expected an axis of the tensor, got axis -3 of a tensor of rank 1
