; One input has one type, and an output is no source.
%a = host_to_device input "x" i64[2]
%b = host_to_device input "x" i64[3]
%c = host_to_device output "y"
%d = host_to_device 5
%e:i32 = host_to_device i64[1] {1}
host_to_device i64[1] {1}
free %a

; error: host-name: step 1: host_to_device: expected i64[2], got i64[3]; the input "x" has one type wherever it stands
; error: argument-type: step 2: host_to_device: expected data or an input, got the output "y"
; error: argument-type: step 3: host_to_device: `tensor`: expected a host tensor, got the integer 5
; error: claimed-dtype: step 4: host_to_device (%e): expected i64, got i32; the file states another element type than the tensor has
; warning: leak: step 4: host_to_device (%e): expected a free of the tensor, got none
; error: argument-type: step 5: host_to_device: `result`: expected a name for the result, got none
