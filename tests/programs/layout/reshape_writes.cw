; A base may be freed while a view of it lives, and what is written through one view is read
; through another. The same bytes are seen in two shapes and overwritten twice.
%a = host_to_device i64[2, 2] {1, 2, 3, 4}
%base = empty [4], i64
%v = reshape %base, [2, 2]
%w = reshape %base, [1, 4]
free %base
%v = _modsum_ttc %a, %a, 97, %v
device_to_host %w, none -> i64[1, 4] {2, 4, 6, 8}
%v = _modmul_ttc %a, %v, 5, %v
device_to_host %w, none -> i64[1, 4] {2, 3, 3, 2}
free %a
free %v
free %w

; type %a i64[2, 2]
; type %base i64[4]
; type %v i64[2, 2]
; type %w i64[1, 4]
