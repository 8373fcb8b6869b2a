; Operands have one dtype, which the op takes, and shapes that broadcast.
%a = host_to_device i64[2, 3] iota
%b = host_to_device i32[3] iota
%c = host_to_device i64[2] iota
%t = host_to_device bool[2, 3] fill 1
%o = empty [2, 3], i64
%o1 = add %a, %b, %o
%o2 = add %a, %c, %o
%o3 = divide %a, %a, %o
%o4 = negative %t, %t
%o5 = where %a, %a, %a, %o
%o6 = equal %a, %a, %o
%o7 = add %a, %a, %c
free %a
free %b
free %c
free %t
free %o

; error: dtype: step 5: add: `b` (%b): expected i64, got i32; all operands of this op have the same dtype
; error: shape: step 6: add: `b` (%c): expected a shape that broadcasts with [2, 3], got [2]
; error: dtype: step 7: divide: `a` (%a): expected one of f32, f64, c64, c128, any field, got i64
; error: dtype: step 8: negative: `a` (%t): expected one of i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, c64, c128, any field, points of any curve, got bool
; error: dtype: step 9: where: `condition` (%a): expected bool, got i64
; error: dtype: step 10: equal: `out` (%o): expected bool[2, 3], got i64[2, 3]
; error: shape: step 11: add: `out` (%c): expected i64[2, 3], got i64[2]
