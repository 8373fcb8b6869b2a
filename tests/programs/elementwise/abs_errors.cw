; Signed numbers only.
%a = host_to_device u64[2] {1, 2}
%a = abs %a, %a

; warning: leak: step 0: host_to_device (%a): expected a free of the tensor, got none
; type %a u64[2]
