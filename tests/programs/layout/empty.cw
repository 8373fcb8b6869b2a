; A new tensor reads as zeros, as in HEAL, and reading it before it is written is odd.
%a = empty [2, 2], i8
%b = allocate_on_hardware [], f64
%c = empty [0, 5], i32
device_to_host %a, none -> i8[2, 2] {0, 0, 0, 0}
device_to_host %b, none -> f64[] {0.0}
device_to_host %c, none -> i32[0, 5] {}
free %a
free %b
free %c

; warning: unwritten-read: step 3: device_to_host: `a` (%a): expected a tensor that was written, got zeros
; warning: unwritten-read: step 4: device_to_host: `a` (%b): expected a tensor that was written, got zeros
; type %a i8[2, 2]
; type %b f64[]
; type %c i32[0, 5]
