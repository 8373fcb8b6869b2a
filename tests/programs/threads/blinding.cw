; Two draws from one key and one domain are the same elements; another key or domain gives others.
registers
%k = host_to_device input "key" u8[32]
%a = empty [4], goldilocks
%b = empty [4], goldilocks
uniform_field %k, [4], goldilocks, 7, %a
uniform_field %k, [4], goldilocks, 8, %b
blind %b, 1, 3, %k, 7
forget %k
free %a
free %b

; error: equal-draws: V21 main/5: blind: expected a different name or domain for each draw, got the same as main/3: the elements are equal; give one of the two another `domain`, or another `id`
