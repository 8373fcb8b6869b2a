; passes: common-subexpressions, dead-code
; The same writes in place, of parts too, come to the same tensor; a store of what is there goes.
; The view %y0 of what goes was there before, and now shows what stands for it.
%a = host_to_device input "a" i64[4]
%x = empty [4], i64
%x0 = get_slice %x, [0:3:1]
%x1 = get_slice %x, [3:4:1]
%a0 = get_slice %a, [1:4:1]
%a1 = get_slice %a, [0:1:1]
%x0 = copy %a0, %x0
%x1 = copy %a1, %x1
%y = empty [4], i64
%y0 = get_slice %y, [0:3:1]
%y1 = get_slice %y, [3:4:1]
%y0 = copy %a0, %y0
%y1 = copy %a1, %y1
%s = empty [4], i64
%s = add %x, %y, %s
%s = add %x, %y, %s
device_to_host %s, none -> output "s"

; after common-subexpressions: -1 add, -2 copy, -1 empty
;   %a = host_to_device input "a" i64[4]
;   %x = empty [4], i64
;   %x0 = get_slice %x, [0:3:1]
;   %x1 = get_slice %x, [3:4:1]
;   %a0 = get_slice %a, [1:4:1]
;   %a1 = get_slice %a, [0:1:1]
;   free %a
;   %x0 = copy %a0, %x0
;   free %x0
;   free %a0
;   %x1 = copy %a1, %x1
;   free %x1
;   free %a1
;   %y0 = get_slice %x, [0:3:1]
;   free %y0
;   %y1 = get_slice %x, [3:4:1]
;   free %y1
;   %s = empty [4], i64
;   %s = add %x, %x, %s
;   free %x
;   device_to_host %s, none -> output "s"
;   free %s
; after dead-code: -2 get_slice
;   %a = host_to_device input "a" i64[4]
;   %x = empty [4], i64
;   %x0 = get_slice %x, [0:3:1]
;   %x1 = get_slice %x, [3:4:1]
;   %a0 = get_slice %a, [1:4:1]
;   %a1 = get_slice %a, [0:1:1]
;   free %a
;   %x0 = copy %a0, %x0
;   free %x0
;   free %a0
;   %x1 = copy %a1, %x1
;   free %x1
;   free %a1
;   %s = empty [4], i64
;   %s = add %x, %x, %s
;   free %x
;   device_to_host %s, none -> output "s"
;   free %s
