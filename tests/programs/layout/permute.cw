; Each row has a permutation of its own, given along the axis of rows.
%a = host_to_device i64[2, 3] {1, 2, 3, 4, 5, 6}
%perms = host_to_device i64[2, 3] {2, 0, 1, 0, 2, 1}
%o = empty [2, 3], i64
%o = permute %a, %perms, %o, 0, 1
device_to_host %o, none -> i64[2, 3] {3, 1, 2, 4, 6, 5}
%t = moveaxis %a, 0, 1
%p = empty [3, 2], i64
%p = permute %t, %perms, %p, 1, 0
device_to_host %p, none -> i64[3, 2] {3, 4, 1, 6, 2, 5}
free %a
free %perms
free %o
free %t
free %p

; type %a i64[2, 3]
; type %perms i64[2, 3]
; type %o i64[2, 3]
; type %t i64[3, 2] strides [1, 3] offset 0
; type %p i64[3, 2]
