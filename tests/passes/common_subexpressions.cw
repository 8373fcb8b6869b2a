; passes: common-subexpressions, dead-code
; The transform of %a is asked for twice, and so is the product of two of its multiples.
%q = host_to_device i64[1] {17}
%perm = host_to_device i64[4] {0, 2, 1, 3}
%psi = host_to_device i64[1, 4] {1, 4, 2, 8}
%a = host_to_device input "a" i64[1, 4, 1, 1]
%x = empty [1, 4, 1, 1], i64
%x = ntt %a, -3, %perm, none, %q, none, none, %psi, %x, false, false
%y = empty [1, 4, 1, 1], i64
%y = ntt %a, -3, %perm, none, %q, none, none, %psi, %y, false, false
%s = empty [1, 4, 1, 1], i64
%s = modsum %x, %y, %q, %s
%p = empty [1, 4, 1, 1], i64
%p = modmul %x, %y, %q, %p
%r = empty [1, 4, 1, 1], i64
%r = modmul %y, %x, %q, %r
device_to_host %s, none -> output "s"
device_to_host %p, none -> output "p"
device_to_host %r, none -> output "r"

; after common-subexpressions: -2 empty, -1 modmul, -1 ntt
;   %q = host_to_device i64[1] {17}
;   %perm = host_to_device i64[4] {0, 2, 1, 3}
;   %psi = host_to_device i64[1, 4] {1, 4, 2, 8}
;   %a = host_to_device input "a" i64[1, 4, 1, 1]
;   %x = empty [1, 4, 1, 1], i64
;   %x = ntt %a, -3, %perm, none, %q, none, none, %psi, %x, 0, 0
;   free %perm
;   free %psi
;   free %a
;   %s = empty [1, 4, 1, 1], i64
;   %s = modsum %x, %x, %q, %s
;   %p = empty [1, 4, 1, 1], i64
;   %p = modmul %x, %x, %q, %p
;   free %q
;   free %x
;   device_to_host %s, none -> output "s"
;   free %s
;   device_to_host %p, none -> output "p"
;   device_to_host %p, none -> output "r"
;   free %p
; after dead-code: no change
