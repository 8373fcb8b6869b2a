; passes: inversions, dead-code
; %p and %q do not depend on each other; %r depends on both, and begins a group of its own.
%a = host_to_device input "a" bn254.fr[]
%b = host_to_device input "b" bn254.fr[2]
%p = empty [], bn254.fr
%p = reciprocal %a, %p
%q = empty [2], bn254.fr
%q = reciprocal %b, %q
%s = empty [2], bn254.fr
%s = multiply %p, %q, %s
%r = empty [2], bn254.fr
%r = reciprocal %s, %r
device_to_host %q, none -> output "q"
device_to_host %r, none -> output "r"

; after inversions: +2 copy, +4 get_slice, -1 reciprocal, +4 reshape
;   %a = host_to_device input "a" bn254.fr[]
;   %b = host_to_device input "b" bn254.fr[2]
;   %6 = empty [3], bn254.fr
;   %7 = get_slice %6, [0:1:1]
;   %8 = reshape %7, []
;   free %7
;   %8 = copy %a, %8
;   free %a
;   free %8
;   %9 = get_slice %6, [1:3:1]
;   %10 = reshape %9, [2]
;   free %9
;   %10 = copy %b, %10
;   free %b
;   free %10
;   %11 = empty [3], bn254.fr
;   %11 = reciprocal %6, %11
;   free %6
;   %12 = get_slice %11, [0:1:1]
;   %p = reshape %12, []
;   free %12
;   %13 = get_slice %11, [1:3:1]
;   free %11
;   %q = reshape %13, [2]
;   free %13
;   %s = empty [2], bn254.fr
;   %s = multiply %p, %q, %s
;   free %p
;   %r = empty [2], bn254.fr
;   %r = reciprocal %s, %r
;   free %s
;   device_to_host %q, none -> output "q"
;   free %q
;   device_to_host %r, none -> output "r"
;   free %r
; after dead-code: no change
