; What a program asserts and only the run knows stops the run.
%m = host_to_device input "m" bool[2]
%m = assert_true %m, %m
device_to_host %m, none -> bool[2] {1, 1}
free %m

; type %m bool[2]
; failed: step 1: assert_true: `a`: expected true everywhere, got false in element 0
