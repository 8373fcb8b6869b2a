; Another name for the same elements, which live until the last name goes.
%a = host_to_device i32[2] {1, 2}
%b = new_reference %a
free %a
device_to_host %b, none -> i32[2] {1, 2}
free %b

; type %a i32[2]
; type %b i32[2]
