; Keys are told apart by what they hold.
%k = host_to_device u8[32] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
%same = host_to_device u8[32] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
%other = host_to_device u8[32] {2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
%a = empty [4], goldilocks
%a = uniform_field %k, [4], goldilocks, 7, %a
%a = uniform_field %other, [4], goldilocks, 7, %a
%a = uniform_field %same, [4], goldilocks, 7, %a
free %k
free %same
free %other
free %a

; warning: equal-draws: step 6: uniform_field: expected a different name or domain for each draw, got the same as step 4: the elements are equal; give one of the two another `domain`, or another `id`
; type %k u8[32]
; type %same u8[32]
; type %other u8[32]
; type %a goldilocks[4]
