; passes: composites, dead-code
; A product that only a sum reads is one op with it, also in place; %u is read twice and stays, and
; so does what is written between the two. A product with -1 and a sum with the modulus is a
; negative.
%q = host_to_device i64[1] {17}
%a = host_to_device input "a" i64[2, 4]
%b = host_to_device input "b" i64[2, 4]
%t = empty [2, 4], i64
%t = modmul %a, %b, %q, %t
%c = empty [2, 4], i64
%c = modsum %b, %t, %q, %c
%t2 = empty [2, 4], i64
%t2 = modmul %c, %b, %q, %t2
%c = modsum %t2, %c, %q, %c
%u = empty [2, 4], i64
%u = modmul %a, %a, %q, %u
%d = empty [2, 4], i64
%d = modsum %u, %b, %q, %d
%e = empty [2, 4], i64
%e = modmul %u, %b, %q, %e
%b = modmul %b, %b, %q, %b
%f = empty [2, 4], i64
%f = modsum %e, %a, %q, %f
%n = empty [2, 4], i64
%n = modmul %a, -1, %q, %n
%g = empty [2, 4], i64
%g = modsum %n, %q, %q, %g
device_to_host %g, none -> output "g"
device_to_host %c, none -> output "c"
device_to_host %d, none -> output "d"
device_to_host %f, none -> output "f"
device_to_host %b, none -> output "b"

; after composites: -3 modmul, +2 modmuladd, +1 modneg, -3 modsum
;   %q = host_to_device i64[1] {17}
;   %a = host_to_device input "a" i64[2, 4]
;   %b = host_to_device input "b" i64[2, 4]
;   %t = empty [2, 4], i64
;   free %t
;   %c = empty [2, 4], i64
;   %c = modmuladd %a, %b, %b, %q, %c
;   %t2 = empty [2, 4], i64
;   free %t2
;   %c = modmuladd %c, %b, %c, %q, %c
;   %u = empty [2, 4], i64
;   %u = modmul %a, %a, %q, %u
;   %d = empty [2, 4], i64
;   %d = modsum %u, %b, %q, %d
;   %e = empty [2, 4], i64
;   %e = modmul %u, %b, %q, %e
;   free %u
;   %b = modmul %b, %b, %q, %b
;   %f = empty [2, 4], i64
;   %f = modsum %e, %a, %q, %f
;   free %e
;   %n = empty [2, 4], i64
;   free %n
;   %g = empty [2, 4], i64
;   %g = modneg %a, %q, %g
;   free %q
;   free %a
;   device_to_host %g, none -> output "g"
;   free %g
;   device_to_host %c, none -> output "c"
;   free %c
;   device_to_host %d, none -> output "d"
;   free %d
;   device_to_host %f, none -> output "f"
;   free %f
;   device_to_host %b, none -> output "b"
;   free %b
; after dead-code: -3 empty
;   %q = host_to_device i64[1] {17}
;   %a = host_to_device input "a" i64[2, 4]
;   %b = host_to_device input "b" i64[2, 4]
;   %c = empty [2, 4], i64
;   %c = modmuladd %a, %b, %b, %q, %c
;   %c = modmuladd %c, %b, %c, %q, %c
;   %u = empty [2, 4], i64
;   %u = modmul %a, %a, %q, %u
;   %d = empty [2, 4], i64
;   %d = modsum %u, %b, %q, %d
;   %e = empty [2, 4], i64
;   %e = modmul %u, %b, %q, %e
;   free %u
;   %b = modmul %b, %b, %q, %b
;   %f = empty [2, 4], i64
;   %f = modsum %e, %a, %q, %f
;   free %e
;   %g = empty [2, 4], i64
;   %g = modneg %a, %q, %g
;   free %q
;   free %a
;   device_to_host %g, none -> output "g"
;   free %g
;   device_to_host %c, none -> output "c"
;   free %c
;   device_to_host %d, none -> output "d"
;   free %d
;   device_to_host %f, none -> output "f"
;   free %f
;   device_to_host %b, none -> output "b"
;   free %b
