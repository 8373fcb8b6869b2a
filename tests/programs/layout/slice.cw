; Indices drop their axis; ranges are Python's and may run backwards, or hold nothing.
%a = host_to_device i64[3, 4] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
%row = slice %a, [1, 0:4:2]
%back = slice %a, [2:-1:-2, 3:0:-1]
%none = slice %a, [0:3:1, 2:2:1]
device_to_host %row, none -> i64[2] {4, 6}
device_to_host %back, none -> i64[2, 3] {11, 10, 9, 3, 2, 1}
device_to_host %none, none -> i64[3, 0] {}
%o = set_const_val %row, -1
device_to_host %a, none -> i64[3, 4] {0, 1, 2, 3, -1, 5, -1, 7, 8, 9, 10, 11}
free %a
free %row
free %back
free %none
free %o

; warning: result-name: step 7: set_const_val: `result` (%o, %row): expected %row, got %o; both names now refer to the tensor that was written
; type %a i64[3, 4]
; type %row i64[2] strides [2] offset 4
; type %back i64[2, 3] strides [-8, -1] offset 11
; type %none i64[3, 0]
