; Only an axis of size 1 may go.
%a = host_to_device i64[1, 2] {1, 2}
%b = squeeze %a, 1
%c = squeeze %a, 2
%d = squeeze %a, -3
free %a

; error: shape: step 1: squeeze: `a` (%a): expected an axis of size 1, got axis 1 of size 2
; error: axis: step 2: squeeze: `axis`: expected an axis of the tensor, got axis 2 of a tensor of rank 2
; error: axis: step 3: squeeze: `axis`: expected an axis of the tensor, got axis -3 of a tensor of rank 2
