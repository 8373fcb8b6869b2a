; Two draws from one key and one domain are the same elements: odd, where nobody says that they hide
; something.
%k = host_to_device input "key" u8[32]
%a = empty [4], goldilocks
%b = empty [4], goldilocks
%a = uniform_field %k, [4], goldilocks, 7, %a
%b = uniform_field %k, [4], goldilocks, 7, %b
free %k
free %a
free %b

; warning: equal-draws: step 4: uniform_field: expected a name or domain of its own for each draw, got the one of step 3: the elements are the same; give one of the two another `domain`, or another `id`
; type %k u8[32]
; type %a goldilocks[4]
; type %b goldilocks[4]
