; passes: dead-code
; %x is never read and goes, and what is overwritten unread goes; the index of %g may be out of
; range, the transcript hears %f, and the random numbers are drawn: these stay.
%a = host_to_device input "a" i64[3]
%i = host_to_device input "i" i64[2]
%key = host_to_device input "key" u64[2]
%x = empty [3], i64
%x = multiply %a, %a, %x
%y = empty [3], i64
%y = add %x, %a, %y
%g = empty [2], i64
%g = take_along_axis %a, %i, 0, %g
%n = empty [2], f64
%n = philox_uniform %key, [2], f64, %n
%o = empty [3], i64
%o = add %a, %a, %o
%o = multiply %a, %a, %o
%k = empty [2], i64
%k = take_along_axis %a, %i, 0, %k
device_to_host %o, none -> output "o"

; after dead-code: -2 add, -2 empty, -1 multiply
;   %a = host_to_device input "a" i64[3]
;   %i = host_to_device input "i" i64[2]
;   %key = host_to_device input "key" u64[2]
;   %g = empty [2], i64
;   %g = take_along_axis %a, %i, 0, %g
;   free %g
;   %n = empty [2], f64
;   %n = philox_uniform %key, [2], f64, %n
;   free %key
;   free %n
;   %o = empty [3], i64
;   %o = multiply %a, %a, %o
;   %k = empty [2], i64
;   %k = take_along_axis %a, %i, 0, %k
;   free %a
;   free %i
;   free %k
;   device_to_host %o, none -> output "o"
;   free %o
