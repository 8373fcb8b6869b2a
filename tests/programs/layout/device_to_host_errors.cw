; An expected value has the type that is computed; an output is filled once.
%a = host_to_device i64[2] {1, 2}
device_to_host %a, none -> i64[3] {1, 2, 3}
device_to_host %a, none -> i32[2] {1, 2}
device_to_host %a, none -> output "y"
device_to_host %a, none -> output "y"
device_to_host %a, none -> input "x" i64[2]
device_to_host %a, none
%b = device_to_host %a, none
device_to_host 3, none -> output "z"
free %a

; warning: expected-mismatch: step 1: device_to_host (%a): expected a host tensor of type i64[2], got i64[3]
; warning: expected-mismatch: step 2: device_to_host (%a): expected a host tensor of type i64[2], got i32[2]
; error: host-name: step 4: device_to_host: expected a separate output, got "y", which step 3 fills
; error: argument-type: step 5: device_to_host: expected an expected value or an output, got the input "x"
; error: argument-type: step 6: device_to_host: `result`: expected a host tensor or an output, got none
; error: argument-type: step 7: device_to_host: `result`: expected a host tensor or an output, got the tensor %b
; error: argument-type: step 8: device_to_host: `a`: expected a device tensor, got the integer 3
