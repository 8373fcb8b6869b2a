; What is no program says where.
%a = host_to_device i64[2] {1, 2
free %a

; unparsed: line 3, column 1: expected `,` or `}`, got `free`
