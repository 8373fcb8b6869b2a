; Both axes are there.
%a = host_to_device i64[2, 1] {1, 2}
%b = moveaxis %a, 2, 0
%c = moveaxis %a, 0, -3
%d = moveaxis %a, %a, 0
free %a

; error: axis: step 1: moveaxis: `source`: expected an axis from -2 to 1, got 2
; error: axis: step 2: moveaxis: `destination`: expected an axis from -2 to 1, got -3
; error: argument-type: step 3: moveaxis: `source`: expected an integer, got the tensor %a
