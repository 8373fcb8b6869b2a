; A copy converts nothing and moves nothing onto itself.
%a = host_to_device i64[4] {1, 2, 3, 4}
%o = empty [4], i32
%o = copy %a, %o
%p = empty [2], i64
%p = copy %a, %p
%front = get_slice %a, [0:3:1]
%back = get_slice %a, [1:4:1]
%back = copy %front, %back
free %a
free %front

; error: dtype: step 2: copy: `out` (%o): expected i64[4], got i32[4]
; error: shape: step 4: copy: `out` (%p): expected i64[4], got i64[2]
; error: aliasing: step 7: copy: `a` (%front): expected exactly the elements of `out`, or none of them, got some of the elements of `out`; write into another tensor
