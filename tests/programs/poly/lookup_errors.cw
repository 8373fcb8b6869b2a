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

; warning: leak: step 0: zeros (%a): expected a free of the tensor, got none
; warning: leak: step 1: empty (%o): expected a free of the tensor, got none
; warning: leak: step 2: empty (%i): expected a free of the tensor, got none
; warning: leak: step 3: host_to_device (%more): expected a free of the tensor, got none
; warning: leak: step 4: host_to_device (%far): expected a free of the tensor, got none
; warning: leak: step 5: host_to_device (%lacks): expected a free of the tensor, got none
; warning: leak: step 6: host_to_device (%wide): expected a free of the tensor, got none
; error: shape: step 7: permute_table: `rows` (%more): expected at most 4 rows, the size of the table, got 5
; error: range: step 8: permute_table: `rows` (%far): expected rows below 4, the size of the table, got 4
; error: element: step 9: permute_table: `rows` (%lacks): expected input values that are in the usable rows of the table, got another value in row 1 of the input; add the value to the table, or correct that row of the input
; error: shape: step 10: permute_table: `rows` (%wide): expected 1 axes, got [1, 2]
; error: range: step 11: permute_input: `usable`: expected 0 to 4 rows, the size of the table, got 5
; error: range: step 12: lookup_rows: `usable`: expected an integer from 0 to 281474976710656, got -1
; error: dtype: step 13: lookup_rows: `a` (%i): expected any prime field, got i64
