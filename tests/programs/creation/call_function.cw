; A function of the caller's gives two results: the first step calls, the second takes.
%a = host_to_device u64[3] {1, 2, 3}
%o = empty [3], u64
%o = call_function %a, none, none, none, none, none, none, none, 0, 1, 0, [3], u64, %o
%p = empty [2], i64
%p = call_function none, none, none, none, none, none, none, none, 0, 1, 1, [2], i64, %p
free %a
free %o
free %p

; type %a u64[3]
; type %o u64[3]
; type %p i64[2]
; failed: step 2: function 0: the run was given none
