; passes: copies, dead-code
; %b is %a, a rotation by one and back is %a, and a part is a view; %t is in another order, and %w is
; written, so both stay.
%a = host_to_device input "a" i64[4]
%m = host_to_device input "m" i64[2, 3]
%b = empty [4], i64
%b = copy %a, %b
%r = empty [4], i64
%r0 = get_slice %r, [0:3:1]
%r1 = get_slice %r, [3:4:1]
%a0 = get_slice %a, [1:4:1]
%a1 = get_slice %a, [0:1:1]
%r0 = copy %a0, %r0
%r1 = copy %a1, %r1
%back = empty [4], i64
%k0 = get_slice %back, [1:4:1]
%k1 = get_slice %back, [0:1:1]
%k0 = copy %r0, %k0
%k1 = copy %r1, %k1
%part = get_slice %m, [1, 0:3:1]
%part = contiguous %part
%row = empty [3], i64
%row = copy %part, %row
%t = moveaxis %m, 0, 1
%t = contiguous %t
%w = empty [4], i64
%w = copy %a, %w
%w = add %w, %b, %w
%s = empty [4], i64
%s = multiply %back, %b, %s
device_to_host %s, none -> output "s"
device_to_host %row, none -> output "row"
device_to_host %t, none -> output "t"
device_to_host %w, none -> output "w"

; after copies: -4 copy, -3 empty
;   %a = host_to_device input "a" i64[4]
;   %m = host_to_device input "m" i64[2, 3]
;   %r = empty [4], i64
;   %r0 = get_slice %r, [0:3:1]
;   %r1 = get_slice %r, [3:4:1]
;   free %r
;   %a0 = get_slice %a, [1:4:1]
;   %a1 = get_slice %a, [0:1:1]
;   %r0 = copy %a0, %r0
;   free %r0
;   free %a0
;   %r1 = copy %a1, %r1
;   free %r1
;   free %a1
;   %k0 = get_slice %a, [1:4:1]
;   free %k0
;   %k1 = get_slice %a, [0:1:1]
;   free %k1
;   %part = get_slice %m, [1, 0:3:1]
;   %"part#2" = contiguous %part
;   free %part
;   %t = moveaxis %m, 0, 1
;   free %m
;   %"t#2" = contiguous %t
;   free %t
;   %w = empty [4], i64
;   %w = copy %a, %w
;   %w = add %w, %a, %w
;   %s = empty [4], i64
;   %s = multiply %a, %a, %s
;   free %a
;   device_to_host %s, none -> output "s"
;   free %s
;   device_to_host %"part#2", none -> output "row"
;   free %"part#2"
;   device_to_host %"t#2", none -> output "t"
;   free %"t#2"
;   device_to_host %w, none -> output "w"
;   free %w
; after dead-code: -2 copy, -1 empty, -6 get_slice
;   %a = host_to_device input "a" i64[4]
;   %m = host_to_device input "m" i64[2, 3]
;   %part = get_slice %m, [1, 0:3:1]
;   %"part#2" = contiguous %part
;   free %part
;   %t = moveaxis %m, 0, 1
;   free %m
;   %"t#2" = contiguous %t
;   free %t
;   %w = empty [4], i64
;   %w = copy %a, %w
;   %w = add %w, %a, %w
;   %s = empty [4], i64
;   %s = multiply %a, %a, %s
;   free %a
;   device_to_host %s, none -> output "s"
;   free %s
;   device_to_host %"part#2", none -> output "row"
;   free %"part#2"
;   device_to_host %"t#2", none -> output "t"
;   free %"t#2"
;   device_to_host %w, none -> output "w"
;   free %w
