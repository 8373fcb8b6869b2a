; Not fewer, along an axis that is there, into exactly the shape that results.
%a = host_to_device i64[2, 2] {1, 2, 3, 4}
%o = empty [2, 3], i64
%o1 = pad_single_axis %a, -1, 1, %o
%o2 = pad_single_axis %a, 1, 2, %o
%o3 = pad_single_axis %a, 2, 1, %o
free %a
free %o

; error: range: step 2: pad_single_axis: `pad`: expected an integer from 0 to 281474976710656, got -1
; error: axis: step 3: pad_single_axis: `axis`: expected an axis from -2 to 1, got 2
; error: shape: step 4: pad_single_axis: `out` (%o): expected i64[2, 4], got i64[2, 3]
