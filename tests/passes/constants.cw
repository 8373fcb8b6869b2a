; passes: constants, dead-code
; Single elements are folded, whole vectors are left to kernels, floats to the processor.
%a = host_to_device i64[] {6}
%b = host_to_device i64[] {7}
%v = host_to_device i64[2] {1, 2}
%f = host_to_device f64[] {0.1}
%c = empty [], i64
%c = multiply %a, %b, %c
%d = empty [], i64
%d = add %c, %a, %d
%w = empty [2], i64
%w = multiply %v, %v, %w
%g = empty [], f64
%g = multiply %f, %f, %g
%s = empty [2], i64
%s = multiply %w, %d, %s
device_to_host %s, none -> output "s"
device_to_host %g, none -> output "g"

; after constants: -1 add, -2 empty, +2 host_to_device, -1 multiply
;   %a = host_to_device i64[] {6}
;   free %a
;   %b = host_to_device i64[] {7}
;   free %b
;   %v = host_to_device i64[2] {1, 2}
;   %f = host_to_device f64[] {0.1}
;   %c = host_to_device i64[] {42}
;   free %c
;   %d = host_to_device i64[] {48}
;   %w = empty [2], i64
;   %w = multiply %v, %v, %w
;   free %v
;   %g = empty [], f64
;   %g = multiply %f, %f, %g
;   free %f
;   %s = empty [2], i64
;   %s = multiply %w, %d, %s
;   free %d
;   free %w
;   device_to_host %s, none -> output "s"
;   free %s
;   device_to_host %g, none -> output "g"
;   free %g
; after dead-code: -3 host_to_device
;   %v = host_to_device i64[2] {1, 2}
;   %f = host_to_device f64[] {0.1}
;   %d = host_to_device i64[] {48}
;   %w = empty [2], i64
;   %w = multiply %v, %v, %w
;   free %v
;   %g = empty [], f64
;   %g = multiply %f, %f, %g
;   free %f
;   %s = empty [2], i64
;   %s = multiply %w, %d, %s
;   free %d
;   free %w
;   device_to_host %s, none -> output "s"
;   free %s
;   device_to_host %g, none -> output "g"
;   free %g
