; Rows are those of the table; below 0 is an input that it lacks.
%a = zeros [4], babybear
%o = empty [4], babybear
%i = empty [3], i64
%more = host_to_device i64[5] {0, 1, 2, 3, 0}
%far = host_to_device i64[2] {0, 4}
%lacks = host_to_device i64[3] {-3, 1, -2}
%wide = host_to_device i64[1, 2] {0, 1}
%o1 = permute_table %a, %more, %o
%o2 = permute_table %a, %far, %o
%o3 = permute_table %a, %lacks, %o
%o4 = permute_table %a, %wide, %o
%o5 = permute_input %a, 5, %o
%i1 = lookup_rows %a, %a, -1, %i
%i2 = lookup_rows %i, %a, 3, %i
