; Two draws from one key and one domain are the same elements: odd, where nobody says that they hide
; something. A copy of a key is the key; a key of other contents is another.
%k = host_to_device input "key" u8[34]
%first = get_slice %k, [0:32:1]
%second = get_slice %k, [2:34:1]
%copied = empty [32], u8
%copied = copy %first, %copied
%a = empty [4], goldilocks
%b = empty [4], goldilocks
%a = uniform_field %first, [4], goldilocks, 7, %a
%b = uniform_field %first, [4], goldilocks, 7, %b
%b = uniform_field %copied, [4], goldilocks, 7, %b
%b = uniform_field %second, [4], goldilocks, 7, %b
%copied = copy %second, %copied
%b = uniform_field %copied, [4], goldilocks, 7, %b
%a = copy %b, %a
%copied = set_const_val %copied, 3
%b = uniform_field %copied, [4], goldilocks, 7, %b
free %k
free %first
free %second
free %copied
free %a
free %b

; warning: equal-draws: step 8: uniform_field: expected a different name or domain for each draw, got the same as step 7: the elements are equal; give one of the two another `domain`, or another `id`
; warning: equal-draws: step 9: uniform_field: expected a different name or domain for each draw, got the same as step 7: the elements are equal; give one of the two another `domain`, or another `id`
; warning: equal-draws: step 12: uniform_field: expected a different name or domain for each draw, got the same as step 10: the elements are equal; give one of the two another `domain`, or another `id`
; type %k u8[34]
; type %first u8[32]
; type %second u8[32] strides [1] offset 2
; type %copied u8[32]
; type %a goldilocks[4]
; type %b goldilocks[4]
