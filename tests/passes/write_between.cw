; passes: common-subexpressions, dead-code
; The two sums read the same names, but %a is written between them.
%a = host_to_device i64[3] {1, 2, 3}
%b = host_to_device input "b" i64[3]
%x = empty [3], i64
%x = add %a, %b, %x
%a = multiply %b, %b, %a
%y = empty [3], i64
%y = add %a, %b, %y
%v = get_slice %a, [0:2:1]
%w = empty [3], i64
%w = copy %b, %w
%u = get_slice %b, [0:2:1]
%v = add %u, %u, %v
%z = empty [3], i64
%z = add %a, %b, %z
device_to_host %x, none -> output "x"
device_to_host %y, none -> output "y"
device_to_host %z, none -> output "z"
device_to_host %w, none -> output "w"

; after common-subexpressions: no change
; after dead-code: no change
