; A result overlaps an operand wholly or not at all, and only where the op allows it.
%a = host_to_device i64[4] {1, 2, 3, 4}
%q = host_to_device i64[2] {17, 19}
%even = get_slice %a, [0:4:2]
%odd = get_slice %a, [1:4:2]
%front = get_slice %a, [0:2:1]
%even = _modsum_ttc %odd, %even, 17, %even
%odd = _modsum_ttc %front, %odd, 17, %odd
%square = reshape %a, [2, 2]
%t = moveaxis %square, 0, 1
%t = _modsum_ttc %square, %t, 17, %t
%row = get_slice %square, [0, 0:2:1]
%row = axis_modsum %square, 0, %q, %row
free %a
free %q
free %even
free %front
free %square

; error: aliasing: step 6: _modsum_ttc: `a` (%front): expected exactly the elements of `out`, or none of them, got some of the elements of `out`; write into another tensor
; error: aliasing: step 9: _modsum_ttc: `a` (%square): expected exactly the elements of `out`, or none of them, got some of the elements of `out`; write into another tensor
; error: aliasing: step 11: axis_modsum: `a` (%square): expected none of the elements of `out`, got some of the elements of `out`; write into another tensor
