; The file may say the dtype of a tensor: it must be the one that the tensor has.
%a:i64 = host_to_device i64[2] {1, 2}
%b:i64 = reshape %a:i64, [2]
%c:i32 = reshape %a:i8, [2]
%a:i64 = _modsum_ttc %a:i64, %a:i64, 17, %a:i64
%a:i32 = _modsum_ttc %a, %a, 17, %a:i32
free %a
free %b
free %c

; error: claimed-dtype: step 2: reshape (%a): expected i64, got i8; the file states another element type than the tensor has
; error: claimed-dtype: step 2: reshape (%c): expected i64, got i32; the file states another element type than the tensor has
; error: claimed-dtype: step 4: _modsum_ttc (%a): expected i64, got i32; the file states another element type than the tensor has
