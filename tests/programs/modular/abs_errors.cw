; Signed numbers only.
%a = host_to_device u64[2] {1, 2}
%a = abs %a, %a

; error: dtype: step 1: abs: `a` (%a): expected i32 or i64 or f32 or f64, got u64
